#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>
func.func @conv_1x1_nchw(%a: tensor<1x24x8x20xf32>, %b: tensor<40x24x1x1xf32>, %c: tensor<40xf32>) -> tensor<1x40x8x20xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x40x8x20xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x40x8x20xf32>) -> tensor<1x40x8x20xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%a, %b : tensor<1x24x8x20xf32>, tensor<40x24x1x1xf32>) outs(%f : tensor<1x40x8x20xf32>) -> tensor<1x40x8x20xf32>
  %s = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%r, %c : tensor<1x40x8x20xf32>, tensor<40xf32>) outs(%e : tensor<1x40x8x20xf32>) {
  ^bb0(%x: f32, %bias: f32, %out: f32):
    %y = arith.addf %x, %bias : f32
    linalg.yield %y : f32
  } -> tensor<1x40x8x20xf32>
  return %s : tensor<1x40x8x20xf32>
}
