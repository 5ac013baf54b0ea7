func.func @conv(%lhs: tensor<2x66x66x640xf16>, %rhs: tensor<3x3x640x640xf16>) -> tensor<2x64x64x640xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x64x64x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%lhs, %rhs : tensor<2x66x66x640xf16>, tensor<3x3x640x640xf16>) outs(%init : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  return %r : tensor<2x64x64x640xf32>
}
