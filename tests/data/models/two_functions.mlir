// Can be called in two ways.
func.func @encode(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = math.exp %x : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
func.func @decode(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = arith.negf %x : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
