// Has the compiler lay out images of depthwise convolutions and of max pooling with channels last,
// before anything else is done: see `cpu.py`.
//
// With channels first, rows of an image are contiguous: vectors along them begin anywhere, and with a
// stride they are gathered. With channels last, all loads are of contiguous channels. Transposes of
// neighbours meet and vanish, if these have channels last, too. Where one is left, the barrier keeps
// the compiler from making it part of the convolution, which reads an image many times; sizes behind
// it count as dynamic, so that these convolutions are not tuned. Pooling has no barrier: where its
// transposes do not vanish, it is best as it was. Each type that torch exports (f32, and f16 and bf16,
// in convolutions summed in f32), with strides of 1 and 2, has a part below.
!image_f32 = tensor<?x?x?x?xf32>
!filter_f32 = tensor<?x?x?xf32>
!window_f32 = tensor<?x?xf32>
!image_f16 = tensor<?x?x?x?xf16>
!filter_f16 = tensor<?x?x?xf16>
!window_f16 = tensor<?x?xf16>
!image_bf16 = tensor<?x?x?x?xbf16>
!filter_bf16 = tensor<?x?x?xbf16>
!window_bf16 = tensor<?x?xbf16>
!op = !transform.any_op
!values = !transform.any_value

module attributes {transform.with_named_sequence} {
  util.func private @depthwise_f32_stride_1(%image: !image_f32, %filter: !filter_f32, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f32
    %c = tensor.dim %image, %1 : !image_f32
    %h = tensor.dim %image, %2 : !image_f32
    %w = tensor.dim %image, %3 : !image_f32
    %fh = tensor.dim %filter, %1 : !filter_f32
    %fw = tensor.dim %filter, %2 : !filter_f32
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f32
    %image_last = linalg.transpose ins(%image : !image_f32) outs(%image_empty : !image_f32) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_f32{%n, %h, %w, %c} -> !image_f32
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_f32
    %filter_last = linalg.transpose ins(%filter : !filter_f32) outs(%filter_empty : !filter_f32) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_f32, !filter_f32) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f32_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %filter: !filter_f32, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_f32, !filter_f32) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_f32_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @depthwise_f32_stride_2(%image: !image_f32, %filter: !filter_f32, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f32
    %c = tensor.dim %image, %1 : !image_f32
    %h = tensor.dim %image, %2 : !image_f32
    %w = tensor.dim %image, %3 : !image_f32
    %fh = tensor.dim %filter, %1 : !filter_f32
    %fw = tensor.dim %filter, %2 : !filter_f32
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f32
    %image_last = linalg.transpose ins(%image : !image_f32) outs(%image_empty : !image_f32) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_f32{%n, %h, %w, %c} -> !image_f32
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_f32
    %filter_last = linalg.transpose ins(%filter : !filter_f32) outs(%filter_empty : !filter_f32) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_f32, !filter_f32) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f32_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %filter: !filter_f32, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_f32, !filter_f32) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_f32_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @depthwise_f16_stride_1(%image: !image_f16, %filter: !filter_f16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f16
    %c = tensor.dim %image, %1 : !image_f16
    %h = tensor.dim %image, %2 : !image_f16
    %w = tensor.dim %image, %3 : !image_f16
    %fh = tensor.dim %filter, %1 : !filter_f16
    %fw = tensor.dim %filter, %2 : !filter_f16
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f16
    %image_last = linalg.transpose ins(%image : !image_f16) outs(%image_empty : !image_f16) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_f16{%n, %h, %w, %c} -> !image_f16
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_f16
    %filter_last = linalg.transpose ins(%filter : !filter_f16) outs(%filter_empty : !filter_f16) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_f16, !filter_f16) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %filter: !filter_f16, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_f16, !filter_f16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_f16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @depthwise_f16_stride_2(%image: !image_f16, %filter: !filter_f16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f16
    %c = tensor.dim %image, %1 : !image_f16
    %h = tensor.dim %image, %2 : !image_f16
    %w = tensor.dim %image, %3 : !image_f16
    %fh = tensor.dim %filter, %1 : !filter_f16
    %fw = tensor.dim %filter, %2 : !filter_f16
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f16
    %image_last = linalg.transpose ins(%image : !image_f16) outs(%image_empty : !image_f16) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_f16{%n, %h, %w, %c} -> !image_f16
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_f16
    %filter_last = linalg.transpose ins(%filter : !filter_f16) outs(%filter_empty : !filter_f16) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_f16, !filter_f16) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_f16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %filter: !filter_f16, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_f16, !filter_f16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_f16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @depthwise_bf16_stride_1(%image: !image_bf16, %filter: !filter_bf16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_bf16
    %c = tensor.dim %image, %1 : !image_bf16
    %h = tensor.dim %image, %2 : !image_bf16
    %w = tensor.dim %image, %3 : !image_bf16
    %fh = tensor.dim %filter, %1 : !filter_bf16
    %fw = tensor.dim %filter, %2 : !filter_bf16
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_bf16
    %image_last = linalg.transpose ins(%image : !image_bf16) outs(%image_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_bf16{%n, %h, %w, %c} -> !image_bf16
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_bf16
    %filter_last = linalg.transpose ins(%filter : !filter_bf16) outs(%filter_empty : !filter_bf16) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_bf16, !filter_bf16) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_bf16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %filter: !filter_bf16, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !image_bf16, !filter_bf16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_bf16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @depthwise_bf16_stride_2(%image: !image_bf16, %filter: !filter_bf16, %sums: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_bf16
    %c = tensor.dim %image, %1 : !image_bf16
    %h = tensor.dim %image, %2 : !image_bf16
    %w = tensor.dim %image, %3 : !image_bf16
    %fh = tensor.dim %filter, %1 : !filter_bf16
    %fw = tensor.dim %filter, %2 : !filter_bf16
    %oh = tensor.dim %sums, %2 : !image_f32
    %ow = tensor.dim %sums, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_bf16
    %image_last = linalg.transpose ins(%image : !image_bf16) outs(%image_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !image_bf16{%n, %h, %w, %c} -> !image_bf16
    %filter_empty = tensor.empty(%fh, %fw, %c) : !filter_bf16
    %filter_last = linalg.transpose ins(%filter : !filter_bf16) outs(%filter_empty : !filter_bf16) permutation = [1, 2, 0]
    %sums_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %sums_last = linalg.transpose ins(%sums : !image_f32) outs(%sums_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_kept, %filter_last : !image_bf16, !filter_bf16) outs(%sums_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_bf16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.depthwise_conv_2d_nchw_chw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %filter: !filter_bf16, %sums: !image_f32):
      %result = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %filter : !image_bf16, !filter_bf16) outs(%sums : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @depthwise_bf16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_f32_stride_1(%image: !image_f32, %window: !window_f32, %start: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f32
    %c = tensor.dim %image, %1 : !image_f32
    %h = tensor.dim %image, %2 : !image_f32
    %w = tensor.dim %image, %3 : !image_f32
    %oh = tensor.dim %start, %2 : !image_f32
    %ow = tensor.dim %start, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f32
    %image_last = linalg.transpose ins(%image : !image_f32) outs(%image_empty : !image_f32) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %start_last = linalg.transpose ins(%start : !image_f32) outs(%start_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_last, %window : !image_f32, !window_f32) outs(%start_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_pool_f32_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %window: !window_f32, %start: !image_f32):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %window : !image_f32, !window_f32) outs(%start : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_f32_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_f32_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_f32_stride_2(%image: !image_f32, %window: !window_f32, %start: !image_f32) -> !image_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f32
    %c = tensor.dim %image, %1 : !image_f32
    %h = tensor.dim %image, %2 : !image_f32
    %w = tensor.dim %image, %3 : !image_f32
    %oh = tensor.dim %start, %2 : !image_f32
    %ow = tensor.dim %start, %3 : !image_f32
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f32
    %image_last = linalg.transpose ins(%image : !image_f32) outs(%image_empty : !image_f32) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f32
    %start_last = linalg.transpose ins(%start : !image_f32) outs(%start_empty : !image_f32) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_last, %window : !image_f32, !window_f32) outs(%start_last : !image_f32) -> !image_f32
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f32
    %result = linalg.transpose ins(%last : !image_f32) outs(%empty : !image_f32) permutation = [0, 3, 1, 2]
    util.return %result : !image_f32
  }
  transform.named_sequence @match_pool_f32_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f32, %window: !window_f32, %start: !image_f32):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %window : !image_f32, !window_f32) outs(%start : !image_f32) -> !image_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_f32_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_f32_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_f16_stride_1(%image: !image_f16, %window: !window_f16, %start: !image_f16) -> !image_f16 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f16
    %c = tensor.dim %image, %1 : !image_f16
    %h = tensor.dim %image, %2 : !image_f16
    %w = tensor.dim %image, %3 : !image_f16
    %oh = tensor.dim %start, %2 : !image_f16
    %ow = tensor.dim %start, %3 : !image_f16
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f16
    %image_last = linalg.transpose ins(%image : !image_f16) outs(%image_empty : !image_f16) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f16
    %start_last = linalg.transpose ins(%start : !image_f16) outs(%start_empty : !image_f16) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_last, %window : !image_f16, !window_f16) outs(%start_last : !image_f16) -> !image_f16
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f16
    %result = linalg.transpose ins(%last : !image_f16) outs(%empty : !image_f16) permutation = [0, 3, 1, 2]
    util.return %result : !image_f16
  }
  transform.named_sequence @match_pool_f16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %window: !window_f16, %start: !image_f16):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %window : !image_f16, !window_f16) outs(%start : !image_f16) -> !image_f16
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_f16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_f16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_f16_stride_2(%image: !image_f16, %window: !window_f16, %start: !image_f16) -> !image_f16 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_f16
    %c = tensor.dim %image, %1 : !image_f16
    %h = tensor.dim %image, %2 : !image_f16
    %w = tensor.dim %image, %3 : !image_f16
    %oh = tensor.dim %start, %2 : !image_f16
    %ow = tensor.dim %start, %3 : !image_f16
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_f16
    %image_last = linalg.transpose ins(%image : !image_f16) outs(%image_empty : !image_f16) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_f16
    %start_last = linalg.transpose ins(%start : !image_f16) outs(%start_empty : !image_f16) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_last, %window : !image_f16, !window_f16) outs(%start_last : !image_f16) -> !image_f16
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_f16
    %result = linalg.transpose ins(%last : !image_f16) outs(%empty : !image_f16) permutation = [0, 3, 1, 2]
    util.return %result : !image_f16
  }
  transform.named_sequence @match_pool_f16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_f16, %window: !window_f16, %start: !image_f16):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %window : !image_f16, !window_f16) outs(%start : !image_f16) -> !image_f16
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_f16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_f16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_bf16_stride_1(%image: !image_bf16, %window: !window_bf16, %start: !image_bf16) -> !image_bf16 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_bf16
    %c = tensor.dim %image, %1 : !image_bf16
    %h = tensor.dim %image, %2 : !image_bf16
    %w = tensor.dim %image, %3 : !image_bf16
    %oh = tensor.dim %start, %2 : !image_bf16
    %ow = tensor.dim %start, %3 : !image_bf16
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_bf16
    %image_last = linalg.transpose ins(%image : !image_bf16) outs(%image_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_bf16
    %start_last = linalg.transpose ins(%start : !image_bf16) outs(%start_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
        ins(%image_last, %window : !image_bf16, !window_bf16) outs(%start_last : !image_bf16) -> !image_bf16
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_bf16
    %result = linalg.transpose ins(%last : !image_bf16) outs(%empty : !image_bf16) permutation = [0, 3, 1, 2]
    util.return %result : !image_bf16
  }
  transform.named_sequence @match_pool_bf16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %window: !window_bf16, %start: !image_bf16):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %window : !image_bf16, !window_bf16) outs(%start : !image_bf16) -> !image_bf16
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_bf16_stride_1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_bf16_stride_1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @pool_bf16_stride_2(%image: !image_bf16, %window: !window_bf16, %start: !image_bf16) -> !image_bf16 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %n = tensor.dim %image, %0 : !image_bf16
    %c = tensor.dim %image, %1 : !image_bf16
    %h = tensor.dim %image, %2 : !image_bf16
    %w = tensor.dim %image, %3 : !image_bf16
    %oh = tensor.dim %start, %2 : !image_bf16
    %ow = tensor.dim %start, %3 : !image_bf16
    %image_empty = tensor.empty(%n, %h, %w, %c) : !image_bf16
    %image_last = linalg.transpose ins(%image : !image_bf16) outs(%image_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %start_empty = tensor.empty(%n, %oh, %ow, %c) : !image_bf16
    %start_last = linalg.transpose ins(%start : !image_bf16) outs(%start_empty : !image_bf16) permutation = [0, 2, 3, 1]
    %last = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
        ins(%image_last, %window : !image_bf16, !window_bf16) outs(%start_last : !image_bf16) -> !image_bf16
    %empty = tensor.empty(%n, %c, %oh, %ow) : !image_bf16
    %result = linalg.transpose ins(%last : !image_bf16) outs(%empty : !image_bf16) permutation = [0, 3, 1, 2]
    util.return %result : !image_bf16
  }
  transform.named_sequence @match_pool_bf16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.pooling_nchw_max"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !image_bf16, %window: !window_bf16, %start: !image_bf16):
      %result = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
          ins(%image, %window : !image_bf16, !window_bf16) outs(%start : !image_bf16) -> !image_bf16
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_pool_bf16_stride_2(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @pool_bf16_stride_2 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  transform.named_sequence @__transform_main(%module: !op) {
    %functions = transform.structured.match ops{["util.func"]} in %module : (!op) -> !op
    transform.foreach %functions : !op {
    ^bb1(%function: !op):
      transform.foreach_match in %function
          @match_f32_stride_1 -> @replace_f32_stride_1,
          @match_f32_stride_2 -> @replace_f32_stride_2,
          @match_f16_stride_1 -> @replace_f16_stride_1,
          @match_f16_stride_2 -> @replace_f16_stride_2,
          @match_bf16_stride_1 -> @replace_bf16_stride_1,
          @match_bf16_stride_2 -> @replace_bf16_stride_2,
          @match_pool_f32_stride_1 -> @replace_pool_f32_stride_1,
          @match_pool_f32_stride_2 -> @replace_pool_f32_stride_2,
          @match_pool_f16_stride_1 -> @replace_pool_f16_stride_1,
          @match_pool_f16_stride_2 -> @replace_pool_f16_stride_2,
          @match_pool_bf16_stride_1 -> @replace_pool_bf16_stride_1,
          @match_pool_bf16_stride_2 -> @replace_pool_bf16_stride_2
        : (!op) -> !op
    }
    transform.apply_dce to %module : !op
    transform.yield
  }
}
