// Two matmuls of different sizes with an elementwise op between.
func.func @main(%x: tensor<32x256xf32>, %v: tensor<256x512xf32>, %w: tensor<512x1024xf32>)
    -> tensor<32x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<32x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x512xf32>) -> tensor<32x512xf32>
  %h = linalg.matmul ins(%x, %v : tensor<32x256xf32>, tensor<256x512xf32>)
      outs(%init : tensor<32x512xf32>) -> tensor<32x512xf32>
  %g = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<32x512xf32>) outs(%empty : tensor<32x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %zero : f32
    %d = arith.addf %c, %one : f32
    linalg.yield %d : f32
  } -> tensor<32x512xf32>
  %empty2 = tensor.empty() : tensor<32x1024xf32>
  %init2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<32x1024xf32>) -> tensor<32x1024xf32>
  %y = linalg.matmul ins(%g, %w : tensor<32x512xf32>, tensor<512x1024xf32>)
      outs(%init2 : tensor<32x1024xf32>) -> tensor<32x1024xf32>
  return %y : tensor<32x1024xf32>
}
