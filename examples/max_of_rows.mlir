// What a softmax begins with: the largest of each of 3000 rows.
func.func @max_of_rows(%x: tensor<3000x500xf32>) -> tensor<3000xf32> {
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<3000xf32>
  %start = linalg.fill ins(%least : f32) outs(%empty : tensor<3000xf32>) -> tensor<3000xf32>
  %y = linalg.reduce { arith.maximumf } ins(%x : tensor<3000x500xf32>) outs(%start : tensor<3000xf32>)
    dimensions = [1]
  return %y : tensor<3000xf32>
}
