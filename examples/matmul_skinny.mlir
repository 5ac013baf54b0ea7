func.func @matmul_skinny(%a: tensor<32x2048xf32>, %b: tensor<2048x2048xf32>) -> tensor<32x2048xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x2048xf32>) -> tensor<32x2048xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x2048xf32>, tensor<2048x2048xf32>) outs(%f : tensor<32x2048xf32>) -> tensor<32x2048xf32>
  return %r : tensor<32x2048xf32>
}
