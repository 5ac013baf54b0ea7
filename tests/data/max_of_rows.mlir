func.func @max_of_rows(%x: tensor<96x100xf32>) -> tensor<96xf32> {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<96xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<96x100xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<96xf32>
  return %r : tensor<96xf32>
}
