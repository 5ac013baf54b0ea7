func.func @conv_depthwise(%a: tensor<2x58x58x128xf16>, %b: tensor<3x3x128xf16>) -> tensor<2x56x56x128xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x56x56x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x56x56x128xf32>) -> tensor<2x56x56x128xf32>
  %r = linalg.depthwise_conv_2d_nhwc_hwc {strides=dense<1>:tensor<2xi64>,dilations=dense<1>:tensor<2xi64>} ins(%a, %b : tensor<2x58x58x128xf16>, tensor<3x3x128xf16>) outs(%f : tensor<2x56x56x128xf32>) -> tensor<2x56x56x128xf32>
  return %r : tensor<2x56x56x128xf32>
}
