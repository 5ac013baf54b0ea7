func.func @elementwise(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = arith.addf %a, %a : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
