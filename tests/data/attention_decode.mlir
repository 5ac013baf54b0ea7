func.func @attention(%q: tensor<4x16xf32>, %k: tensor<4x64x16xf32>, %v: tensor<4x64x16xf32>) -> tensor<4x16xf32> {
  %s = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, n, k1, k2) -> (b, k1)>, affine_map<(b, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, n, k1, k2) -> (b, k2, n)>, affine_map<(b, n, k1, k2) -> ()>,
      affine_map<(b, n, k1, k2) -> (b, n)>]}>
     ins(%q, %k, %v, %s : tensor<4x16xf32>, tensor<4x64x16xf32>, tensor<4x64x16xf32>, f32)
      outs(%e : tensor<4x16xf32>) {
    ^bb0(%x: f32):
      iree_linalg_ext.yield %x : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
