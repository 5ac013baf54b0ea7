func.func @matmul_8x16x8_f32_f32_f32(%lhs: tensor<8x8xf32>, %rhs: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %init_zero = arith.constant 0.0 : f32
  %init_empty = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%init_zero : f32) outs(%init_empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %result = linalg.matmul  ins(%lhs, %rhs : tensor<8x8xf32>, tensor<8x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %result : tensor<8x16xf32>
}
