// The second half of a layer's norm: 500 tokens of 384 features, by the root of their mean square.
#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @layer_norm(%x: tensor<500x384xf32>, %weight: tensor<384xf32>, %bias: tensor<384xf32>)
    -> tensor<500x384xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 384.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<500xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<500xf32>) -> tensor<500xf32>
  %squares = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<500x384xf32>) outs(%start : tensor<500xf32>) {
  ^bb0(%value: f32, %sum: f32):
    %square = arith.mulf %value, %value : f32
    %more = arith.addf %square, %sum : f32
    linalg.yield %more : f32
  } -> tensor<500xf32>
  %unset = tensor.empty() : tensor<500x384xf32>
  %y = linalg.generic {indexing_maps = [#all, #rows, #columns, #columns, #all], iterator_types = ["parallel", "parallel"]}
    ins(%x, %squares, %weight, %bias : tensor<500x384xf32>, tensor<500xf32>, tensor<384xf32>, tensor<384xf32>)
    outs(%unset : tensor<500x384xf32>) {
  ^bb0(%value: f32, %sum: f32, %w: f32, %b: f32, %out: f32):
    %mean = arith.divf %sum, %count : f32
    %some = arith.addf %mean, %epsilon : f32
    %root = math.rsqrt %some : f32
    %normal = arith.mulf %value, %root : f32
    %scaled = arith.mulf %normal, %w : f32
    %shifted = arith.addf %scaled, %b : f32
    linalg.yield %shifted : f32
  } -> tensor<500x384xf32>
  return %y : tensor<500x384xf32>
}
