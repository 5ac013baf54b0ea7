func.func @gather(%table: tensor<64x32xf32>, %rows: tensor<16xi32>) -> tensor<16x32xf32> {
  %e = tensor.empty() : tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%rows : tensor<16xi32>) outs(%e : tensor<16x32xf32>) {
  ^bb0(%row: i32, %out: f32):
    %at = arith.index_cast %row : i32 to index
    %column = linalg.index 1 : index
    %value = tensor.extract %table[%at, %column] : tensor<64x32xf32>
    linalg.yield %value : f32
  } -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
