// The weights are in an archive.
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<64x96xf32>
func.func @main(%x: tensor<16x64xf32>) -> tensor<16x96xf32> {
  %zero = arith.constant 0.0 : f32
  %w = util.global.load @w : tensor<64x96xf32>
  %empty = tensor.empty() : tensor<16x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x96xf32>) -> tensor<16x96xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x96xf32>)
      outs(%init : tensor<16x96xf32>) -> tensor<16x96xf32>
  return %y : tensor<16x96xf32>
}
