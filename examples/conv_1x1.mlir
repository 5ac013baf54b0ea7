#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>
func.func @conv_1x1(%a: tensor<1x24x56x56xf32>, %b: tensor<144x24x1x1xf32>, %c: tensor<144xf32>) -> tensor<1x144x56x56xf32> {
  %z = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %e = tensor.empty() : tensor<1x144x56x56xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x144x56x56xf32>) -> tensor<1x144x56x56xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%a, %b : tensor<1x24x56x56xf32>, tensor<144x24x1x1xf32>) outs(%f : tensor<1x144x56x56xf32>) -> tensor<1x144x56x56xf32>
  %s = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r, %c : tensor<1x144x56x56xf32>, tensor<144xf32>) outs(%e : tensor<1x144x56x56xf32>) {
  ^bb0(%x: f32, %bias: f32, %out: f32):
    %p = arith.addf %x, %bias : f32
    %q = arith.maximumf %p, %z : f32
    %t = arith.minimumf %q, %six : f32
    linalg.yield %t : f32
  } -> tensor<1x144x56x56xf32>
  return %s : tensor<1x144x56x56xf32>
}
