// Has the compiler compute convolutions of small images as products, before anything else is done:
// see `cpu.py`.
//
// Such a convolution reads its whole filter for each row of pixels. As a product of the filter and a
// copy of the windows, it reads each part of the filter for all pixels at once. Small is an image of 8
// rows and columns at most, whose windows have several rows. First all convolutions get channels last,
// so that windows are copied by contiguous channels. Each type that torch exports (f32, and f16 and
// bf16 summed in f32), with strides of 1 and 2, has a part below.
#window_1 = affine_map<(n, oh, ow, fh, fw, c) -> (n, oh + fh, ow + fw, c)>
#window_2 = affine_map<(n, oh, ow, fh, fw, c) -> (n, oh * 2 + fh, ow * 2 + fw, c)>
#point = affine_map<(n, oh, ow, fh, fw, c) -> (n, oh, ow, fh, fw, c)>
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>

!image_f32 = tensor<?x?x?x?xf32>
!windows_f32 = tensor<?x?x?x?x?x?xf32>
!matrix_f32 = tensor<?x?xf32>
!image_f16 = tensor<?x?x?x?xf16>
!windows_f16 = tensor<?x?x?x?x?x?xf16>
!matrix_f16 = tensor<?x?xf16>
!image_bf16 = tensor<?x?x?x?xbf16>
!windows_bf16 = tensor<?x?x?x?x?x?xbf16>
!matrix_bf16 = tensor<?x?xbf16>
!op = !transform.any_op
!values = !transform.any_value

module attributes {transform.with_named_sequence} {
  util.func private @product_f32_stride_1(%image: !image_f32, %filter: !image_f32, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_f32
    %fw = tensor.dim %filter, %1 : !image_f32
    %c = tensor.dim %filter, %2 : !image_f32
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_f32
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_f32) outs(%empty : !windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !windows_f32
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_f32 into !matrix_f32
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f32, !matrix_f32) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f32_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %filter: !image_f32, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_f32, !image_f32) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f32_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f32_stride_2(%image: !image_f32, %filter: !image_f32, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_f32
    %fw = tensor.dim %filter, %1 : !image_f32
    %c = tensor.dim %filter, %2 : !image_f32
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_f32
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_f32) outs(%empty : !windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !windows_f32
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_f32 into !matrix_f32
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f32, !matrix_f32) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f32_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %filter: !image_f32, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_f32, !image_f32) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f32_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f16_stride_1(%image: !image_f16, %filter: !image_f16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_f16
    %fw = tensor.dim %filter, %1 : !image_f16
    %c = tensor.dim %filter, %2 : !image_f16
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_f16
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_f16) outs(%empty : !windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !windows_f16
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_f16 into !matrix_f16
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_f16 into !matrix_f16
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f16, !matrix_f16) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %filter: !image_f16, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_f16, !image_f16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f16_stride_2(%image: !image_f16, %filter: !image_f16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_f16
    %fw = tensor.dim %filter, %1 : !image_f16
    %c = tensor.dim %filter, %2 : !image_f16
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_f16
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_f16) outs(%empty : !windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !windows_f16
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_f16 into !matrix_f16
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_f16 into !matrix_f16
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f16, !matrix_f16) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %filter: !image_f16, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_f16, !image_f16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_bf16_stride_1(%image: !image_bf16, %filter: !image_bf16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_bf16
    %fw = tensor.dim %filter, %1 : !image_bf16
    %c = tensor.dim %filter, %2 : !image_bf16
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_bf16
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_bf16) outs(%empty : !windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !windows_bf16
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_bf16 into !matrix_bf16
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_bf16 into !matrix_bf16
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_bf16, !matrix_bf16) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_bf16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %filter: !image_bf16, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_bf16, !image_bf16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_bf16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_bf16_stride_2(%image: !image_bf16, %filter: !image_bf16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %sums, %0 : !image_f32
    %oh = tensor.dim %sums, %1 : !image_f32
    %ow = tensor.dim %sums, %2 : !image_f32
    %oc = tensor.dim %sums, %3 : !image_f32
    %fh = tensor.dim %filter, %0 : !image_bf16
    %fw = tensor.dim %filter, %1 : !image_bf16
    %c = tensor.dim %filter, %2 : !image_bf16
    %empty = tensor.empty(%n, %oh, %ow, %fh, %fw, %c) : !windows_bf16
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !image_bf16) outs(%empty : !windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !windows_bf16
    %rows = tensor.collapse_shape %windows [[0, 1, 2], [3, 4, 5]] : !windows_bf16 into !matrix_bf16
    %columns = tensor.collapse_shape %filter [[0, 1, 2], [3]] : !image_bf16 into !matrix_bf16
    %flat = tensor.collapse_shape %sums [[0, 1, 2], [3]] : !image_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_bf16, !matrix_bf16) outs(%flat : !matrix_f32) -> !matrix_f32
    %result = tensor.expand_shape %products [[0, 1, 2], [3]] output_shape [%n, %oh, %ow, %oc] : !matrix_f32 into !image_f32
    util.return %result : !image_f32
  }
  transform.named_sequence @match_bf16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %filter: !image_bf16, %sums: !image_f32):
      %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_bf16, !image_bf16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[0], umin = 2, none : !values
    transform.iree.match.dim_bounds %outs[1], none, umax = 8 : !values
    transform.iree.match.dim_bounds %outs[2], none, umax = 8 : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_bf16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  transform.named_sequence @__transform_main(%module: !op) {
    %given = transform.structured.match ops{["util.func"]} in %module : (!op) -> !op
    %functions = transform.apply_registered_pass "iree-preprocessing-convert-conv-to-channels-last" to %given : (!op) -> !op
    transform.foreach %functions : !op {
    ^bb1(%function: !op):
      transform.foreach_match in %function
          @match_f32_stride_1 -> @replace_f32_stride_1,
          @match_f32_stride_2 -> @replace_f32_stride_2,
          @match_f16_stride_1 -> @replace_f16_stride_1,
          @match_f16_stride_2 -> @replace_f16_stride_2,
          @match_bf16_stride_1 -> @replace_bf16_stride_1,
          @match_bf16_stride_2 -> @replace_bf16_stride_2
        : (!op) -> !op
    }
    transform.apply_dce to %module : !op
    transform.yield
  }
}
