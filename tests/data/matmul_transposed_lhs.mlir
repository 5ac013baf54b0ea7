func.func @matmul_transposed_lhs(%a: tensor<64x32xf32>, %b: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.matmul indexing_maps=[affine_map<(m,n,k)->(k,m)>,affine_map<(m,n,k)->(k,n)>,affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<64x32xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %r : tensor<32x48xf32>
}
