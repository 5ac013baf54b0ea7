func.func @conv_grouped(%a: tensor<1x2x8x18x18xf32>, %b: tensor<16x2x8x3x3xf32>) -> tensor<1x2x16x16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x16x16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x2x16x16x16xf32>) -> tensor<1x2x16x16x16xf32>
  %r = linalg.conv_2d_ngchw_fgchw {strides=dense<1>:tensor<2xi64>,dilations=dense<1>:tensor<2xi64>} ins(%a, %b : tensor<1x2x8x18x18xf32>, tensor<16x2x8x3x3xf32>) outs(%f : tensor<1x2x16x16x16xf32>) -> tensor<1x2x16x16x16xf32>
  return %r : tensor<1x2x16x16x16xf32>
}
