// A layer that is called in two ways: with many rows at once, and with one.
func.func @prefill(%x: tensor<32x256xf32>, %w: tensor<256x512xf32>) -> tensor<32x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x512xf32>) -> tensor<32x512xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x256xf32>, tensor<256x512xf32>)
      outs(%init : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %y : tensor<32x512xf32>
}
func.func @decode(%x: tensor<1x256xf32>, %w: tensor<256x512xf32>) -> tensor<1x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x512xf32>) -> tensor<1x512xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x256xf32>, tensor<256x512xf32>)
      outs(%init : tensor<1x512xf32>) -> tensor<1x512xf32>
  return %y : tensor<1x512xf32>
}
