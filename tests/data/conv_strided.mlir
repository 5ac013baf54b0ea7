func.func @conv_strided(%a: tensor<2x17x17x16xf32>, %b: tensor<3x3x16x32xf32>) -> tensor<2x8x8x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x8x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x8x8x32xf32>) -> tensor<2x8x8x32xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides=dense<2>:tensor<2xi64>,dilations=dense<1>:tensor<2xi64>} ins(%a, %b : tensor<2x17x17x16xf32>, tensor<3x3x16x32xf32>) outs(%f : tensor<2x8x8x32xf32>) -> tensor<2x8x8x32xf32>
  return %r : tensor<2x8x8x32xf32>
}
