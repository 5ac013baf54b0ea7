// Two key-value heads, each of four queries, under a mask, and the transposition that follows in
// Llama: with it, the compiler keeps heads and rows apart.
func.func @attention_grouped(%q: tensor<2x4x32x64xf32>, %k: tensor<2x48x64xf32>,
    %v: tensor<48x2x64xf32>, %mask: tensor<2x4x32x48xf32>) -> tensor<32x2x4x64xf32> {
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<2x4x32x64xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [
    affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>,
    affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d4)>,
    affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d3)>,
    affine_map<(d0, d1, d2, d3, d4, d5) -> ()>,
    affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>,
    affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>]}>
    ins(%q, %k, %v, %scale, %mask : tensor<2x4x32x64xf32>, tensor<2x48x64xf32>,
      tensor<48x2x64xf32>, f32, tensor<2x4x32x48xf32>)
    outs(%e : tensor<2x4x32x64xf32>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<2x4x32x64xf32>
  %t = tensor.empty() : tensor<32x2x4x64xf32>
  %o = linalg.transpose ins(%r : tensor<2x4x32x64xf32>) outs(%t : tensor<32x2x4x64xf32>)
    permutation = [2, 0, 1, 3]
  return %o : tensor<32x2x4x64xf32>
}
