func.func @conv_1x1(%a: tensor<1x16x16x16xf32>, %b: tensor<1x1x16x32xf32>) -> tensor<1x16x16x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x16x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides=dense<1>:tensor<2xi64>,dilations=dense<1>:tensor<2xi64>} ins(%a, %b : tensor<1x16x16x16xf32>, tensor<1x1x16x32xf32>) outs(%f : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  return %r : tensor<1x16x16x32xf32>
}
