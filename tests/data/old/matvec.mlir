func.func @matvec(%a: tensor<256x128xf32>, %b: tensor<128xf32>) -> tensor<256xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %r = linalg.matvec ins(%a, %b : tensor<256x128xf32>, tensor<128xf32>) outs(%f : tensor<256xf32>) -> tensor<256xf32>
  return %r : tensor<256xf32>
}
