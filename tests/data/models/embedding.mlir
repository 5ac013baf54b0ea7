// Token ids choose rows of a table; the second input is used by nothing.
func.func @main(%ids: tensor<16xi64>, %unused: tensor<4xf32>, %table: tensor<37x64xf32>,
    %w: tensor<64x96xf32>) -> tensor<16x96xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<16x64xf32>
  %x = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<16xi64>) outs(%rows : tensor<16x64xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %value = tensor.extract %table[%row, %column] : tensor<37x64xf32>
    linalg.yield %value : f32
  } -> tensor<16x64xf32>
  %empty = tensor.empty() : tensor<16x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x96xf32>) -> tensor<16x96xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x96xf32>)
      outs(%init : tensor<16x96xf32>) -> tensor<16x96xf32>
  return %y : tensor<16x96xf32>
}
