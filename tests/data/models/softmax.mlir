// Computes nothing that can be tuned.
func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %empty = tensor.empty() : tensor<64x256xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<64x256xf32>)
      outs(%empty : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
