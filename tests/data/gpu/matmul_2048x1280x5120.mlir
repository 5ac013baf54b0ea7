func.func @mm(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>) -> tensor<2048x1280xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1280xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  return %r : tensor<2048x1280xf32>
}
