// What a softmax computes between its two reductions: 3000 rows of 500, less the maximum of each.
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @exp_of_rows(%x: tensor<3000x500xf32>, %max: tensor<3000xf32>) -> tensor<3000x500xf32> {
  %empty = tensor.empty() : tensor<3000x500xf32>
  %y = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
    ins(%x, %max : tensor<3000x500xf32>, tensor<3000xf32>) outs(%empty : tensor<3000x500xf32>) {
  ^bb0(%value: f32, %largest: f32, %out: f32):
    %less = arith.subf %value, %largest : f32
    %power = math.exp %less : f32
    linalg.yield %power : f32
  } -> tensor<3000x500xf32>
  return %y : tensor<3000x500xf32>
}
