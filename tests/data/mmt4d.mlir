func.func @mmt4d(%a: tensor<5x64x8x1xf32>, %b: tensor<6x64x8x1xf32>) -> tensor<5x6x8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x6x8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x6x8x8xf32>) -> tensor<5x6x8x8xf32>
  %r = linalg.mmt4d ins(%a, %b : tensor<5x64x8x1xf32>, tensor<6x64x8x1xf32>) outs(%f : tensor<5x6x8x8xf32>) -> tensor<5x6x8x8xf32>
  return %r : tensor<5x6x8x8xf32>
}
