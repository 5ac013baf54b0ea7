func.func @conv_grouped(%a: tensor<2x4x32x34x34xf16>, %b: tensor<64x4x32x3x3xf16>) -> tensor<2x4x64x32x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x64x32x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x64x32x32xf32>) -> tensor<2x4x64x32x32xf32>
  %r = linalg.conv_2d_ngchw_fgchw {strides=dense<1>:tensor<2xi64>,dilations=dense<1>:tensor<2xi64>} ins(%a, %b : tensor<2x4x32x34x34xf16>, tensor<64x4x32x3x3xf16>) outs(%f : tensor<2x4x64x32x32xf32>) -> tensor<2x4x64x32x32xf32>
  return %r : tensor<2x4x64x32x32xf32>
}
