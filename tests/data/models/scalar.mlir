// A product of what is scaled and shifted by numbers, which are no tensors.
func.func @main(%x: tensor<32x256xf32>, %w: tensor<256x512xf32>, %scale: f32, %shift: i32)
    -> tensor<32x512xf32> {
  %zero = arith.constant 0.0 : f32
  %same = tensor.empty() : tensor<32x256xf32>
  %moved = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x256xf32>) outs(%same : tensor<32x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %scale : f32
    %d = arith.sitofp %shift : i32 to f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<32x256xf32>
  %empty = tensor.empty() : tensor<32x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x512xf32>) -> tensor<32x512xf32>
  %y = linalg.matmul ins(%moved, %w : tensor<32x256xf32>, tensor<256x512xf32>)
      outs(%init : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %y : tensor<32x512xf32>
}
