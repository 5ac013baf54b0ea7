// Takes a value that is no tensor.
func.func @main(%x: tensor<8x16xi32>, %n: i32) -> tensor<8x16xi32> {
  %empty = tensor.empty() : tensor<8x16xi32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xi32>) outs(%empty : tensor<8x16xi32>) {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %n : i32
    linalg.yield %c : i32
  } -> tensor<8x16xi32>
  return %y : tensor<8x16xi32>
}
