func.func @norm(%x: tensor<96x100xf32>, %weight: tensor<100xf32>) -> tensor<96x100xf32> {
  %zero = arith.constant 0.0 : f32
  %size = arith.constant 100.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %e = tensor.empty() : tensor<96xf32>
  %o = tensor.empty() : tensor<96x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<96x100xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    %sum = arith.addf %square, %out : f32
    linalg.yield %sum : f32
  } -> tensor<96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sums, %weight : tensor<96x100xf32>, tensor<96xf32>, tensor<100xf32>) outs(%o : tensor<96x100xf32>) {
  ^bb0(%in: f32, %sum: f32, %w: f32, %out: f32):
    %mean = arith.divf %sum, %size : f32
    %some = arith.addf %mean, %eps : f32
    %root = math.rsqrt %some : f32
    %scaled = arith.mulf %in, %root : f32
    %weighted = arith.mulf %scaled, %w : f32
    linalg.yield %weighted : f32
  } -> tensor<96x100xf32>
  return %r : tensor<96x100xf32>
}
