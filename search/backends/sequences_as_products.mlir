// Has the compiler compute convolutions over sequences as products, before anything else is done:
// see `cpu.py`.
//
// These are convolutions of one dim, and grouped ones whose windows have 16 rows and more, as models
// of speech have them. The compiler's own im2col takes those of two dims alone, its pass that puts
// channels last, too, and of such groups it makes scalar loops. Sequences get channels last, so that
// windows are copied by contiguous channels; the barrier keeps the compiler from computing what comes
// before, such as an activation, anew for each window that a point is in. Groups stay as they are, and
// windows are copied along the sequence. Each type that torch exports (f32, and f16 and bf16 summed in
// f32), with strides of 1, 2 and 5, or 1 for groups, has a part below.
#window_1 = affine_map<(n, x, fx, c) -> (n, x + fx, c)>
#window_2 = affine_map<(n, x, fx, c) -> (n, x * 2 + fx, c)>
#window_5 = affine_map<(n, x, fx, c) -> (n, x * 5 + fx, c)>
#point = affine_map<(n, x, fx, c) -> (n, x, fx, c)>
#grouped_window = affine_map<(n, g, c, fh, fw, h, w) -> (n, g, c, h + fh, w + fw)>
#grouped_point = affine_map<(n, g, c, fh, fw, h, w) -> (n, g, c, fh, fw, h, w)>
#grouped_rows = affine_map<(n, g, f, x, k) -> (g, f, k)>
#grouped_columns = affine_map<(n, g, f, x, k) -> (n, g, k, x)>
#grouped_sums = affine_map<(n, g, f, x, k) -> (n, g, f, x)>

!matrix_f32 = tensor<?x?xf32>
!sequence_f32 = tensor<?x?x?xf32>
!windows_f32 = tensor<?x?x?x?xf32>
!groups_f32 = tensor<?x?x?x?x?xf32>
!grouped_windows_f32 = tensor<?x?x?x?x?x?x?xf32>
!matrix_f16 = tensor<?x?xf16>
!sequence_f16 = tensor<?x?x?xf16>
!windows_f16 = tensor<?x?x?x?xf16>
!groups_f16 = tensor<?x?x?x?x?xf16>
!grouped_windows_f16 = tensor<?x?x?x?x?x?x?xf16>
!matrix_bf16 = tensor<?x?xbf16>
!sequence_bf16 = tensor<?x?x?xbf16>
!windows_bf16 = tensor<?x?x?x?xbf16>
!groups_bf16 = tensor<?x?x?x?x?xbf16>
!grouped_windows_bf16 = tensor<?x?x?x?x?x?x?xbf16>
!op = !transform.any_op
!values = !transform.any_value

module attributes {transform.with_named_sequence} {
  util.func private @product_f32_stride_1(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f32
    %c = tensor.dim %image, %1 : !sequence_f32
    %w = tensor.dim %image, %2 : !sequence_f32
    %f = tensor.dim %filter, %0 : !sequence_f32
    %fx = tensor.dim %filter, %2 : !sequence_f32
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f32
    %image_last = linalg.transpose ins(%image : !sequence_f32) outs(%image_empty : !sequence_f32) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f32{%n, %w, %c} -> !sequence_f32
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f32
    %filter_last = linalg.transpose ins(%filter : !sequence_f32) outs(%filter_empty : !sequence_f32) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f32
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f32) outs(%empty : !windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !windows_f32
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f32 into !matrix_f32
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f32, !matrix_f32) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f32_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
          ins(%image, %filter : !sequence_f32, !sequence_f32) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_f32_stride_2(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f32
    %c = tensor.dim %image, %1 : !sequence_f32
    %w = tensor.dim %image, %2 : !sequence_f32
    %f = tensor.dim %filter, %0 : !sequence_f32
    %fx = tensor.dim %filter, %2 : !sequence_f32
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f32
    %image_last = linalg.transpose ins(%image : !sequence_f32) outs(%image_empty : !sequence_f32) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f32{%n, %w, %c} -> !sequence_f32
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f32
    %filter_last = linalg.transpose ins(%filter : !sequence_f32) outs(%filter_empty : !sequence_f32) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f32
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f32) outs(%empty : !windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !windows_f32
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f32 into !matrix_f32
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f32, !matrix_f32) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f32_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>}
          ins(%image, %filter : !sequence_f32, !sequence_f32) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_f32_stride_5(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f32
    %c = tensor.dim %image, %1 : !sequence_f32
    %w = tensor.dim %image, %2 : !sequence_f32
    %f = tensor.dim %filter, %0 : !sequence_f32
    %fx = tensor.dim %filter, %2 : !sequence_f32
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f32
    %image_last = linalg.transpose ins(%image : !sequence_f32) outs(%image_empty : !sequence_f32) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f32{%n, %w, %c} -> !sequence_f32
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f32
    %filter_last = linalg.transpose ins(%filter : !sequence_f32) outs(%filter_empty : !sequence_f32) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f32
    %windows = linalg.generic {indexing_maps = [#window_5, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f32) outs(%empty : !windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !windows_f32
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f32 into !matrix_f32
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f32, !matrix_f32) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f32_stride_5(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f32, %filter: !sequence_f32, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<5> : vector<1xi64>}
          ins(%image, %filter : !sequence_f32, !sequence_f32) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_stride_5(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f32_stride_5 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f32_groups(%image: !groups_f32, %filter: !groups_f32, %sums: !groups_f32) -> !groups_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %4 = arith.constant 4 : index
    %n = tensor.dim %sums, %0 : !groups_f32
    %g = tensor.dim %sums, %1 : !groups_f32
    %f = tensor.dim %sums, %2 : !groups_f32
    %h = tensor.dim %sums, %3 : !groups_f32
    %w = tensor.dim %sums, %4 : !groups_f32
    %c = tensor.dim %filter, %2 : !groups_f32
    %fh = tensor.dim %filter, %3 : !groups_f32
    %fw = tensor.dim %filter, %4 : !groups_f32
    %empty = tensor.empty(%n, %g, %c, %fh, %fw, %h, %w) : !grouped_windows_f32
    %windows = linalg.generic {indexing_maps = [#grouped_window, #grouped_point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !groups_f32) outs(%empty : !grouped_windows_f32) {
    ^bb0(%value: f32, %unused: f32):
      linalg.yield %value : f32
    } -> !grouped_windows_f32
    %rows = tensor.collapse_shape %filter [[0], [1], [2, 3, 4]] : !groups_f32 into !sequence_f32
    %columns = tensor.collapse_shape %windows [[0], [1], [2, 3, 4], [5, 6]] : !grouped_windows_f32 into !windows_f32
    %flat = tensor.collapse_shape %sums [[0], [1], [2], [3, 4]] : !groups_f32 into !windows_f32
    %products = linalg.contract indexing_maps = [#grouped_rows, #grouped_columns, #grouped_sums]
        ins(%rows, %columns : !sequence_f32, !windows_f32) outs(%flat : !windows_f32) -> !windows_f32
    %result = tensor.expand_shape %products [[0], [1], [2], [3, 4]] output_shape [%n, %g, %f, %h, %w] : !windows_f32 into !groups_f32
    util.return %result : !groups_f32
  }
  transform.named_sequence @match_f32_groups(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_ngchw_gfchw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !groups_f32, %filter: !groups_f32, %sums: !groups_f32):
      %result = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !groups_f32, !groups_f32) outs(%sums : !groups_f32) -> !groups_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[3], umin = 16, none : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_groups(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f32_groups into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f16_stride_1(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f16
    %c = tensor.dim %image, %1 : !sequence_f16
    %w = tensor.dim %image, %2 : !sequence_f16
    %f = tensor.dim %filter, %0 : !sequence_f16
    %fx = tensor.dim %filter, %2 : !sequence_f16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f16
    %image_last = linalg.transpose ins(%image : !sequence_f16) outs(%image_empty : !sequence_f16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f16{%n, %w, %c} -> !sequence_f16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f16
    %filter_last = linalg.transpose ins(%filter : !sequence_f16) outs(%filter_empty : !sequence_f16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f16
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f16) outs(%empty : !windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !windows_f16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f16 into !matrix_f16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f16 into !matrix_f16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f16, !matrix_f16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
          ins(%image, %filter : !sequence_f16, !sequence_f16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_f16_stride_2(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f16
    %c = tensor.dim %image, %1 : !sequence_f16
    %w = tensor.dim %image, %2 : !sequence_f16
    %f = tensor.dim %filter, %0 : !sequence_f16
    %fx = tensor.dim %filter, %2 : !sequence_f16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f16
    %image_last = linalg.transpose ins(%image : !sequence_f16) outs(%image_empty : !sequence_f16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f16{%n, %w, %c} -> !sequence_f16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f16
    %filter_last = linalg.transpose ins(%filter : !sequence_f16) outs(%filter_empty : !sequence_f16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f16
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f16) outs(%empty : !windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !windows_f16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f16 into !matrix_f16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f16 into !matrix_f16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f16, !matrix_f16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>}
          ins(%image, %filter : !sequence_f16, !sequence_f16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_f16_stride_5(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_f16
    %c = tensor.dim %image, %1 : !sequence_f16
    %w = tensor.dim %image, %2 : !sequence_f16
    %f = tensor.dim %filter, %0 : !sequence_f16
    %fx = tensor.dim %filter, %2 : !sequence_f16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_f16
    %image_last = linalg.transpose ins(%image : !sequence_f16) outs(%image_empty : !sequence_f16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_f16{%n, %w, %c} -> !sequence_f16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_f16
    %filter_last = linalg.transpose ins(%filter : !sequence_f16) outs(%filter_empty : !sequence_f16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_f16
    %windows = linalg.generic {indexing_maps = [#window_5, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_f16) outs(%empty : !windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !windows_f16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_f16 into !matrix_f16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_f16 into !matrix_f16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_f16, !matrix_f16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_f16_stride_5(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_f16, %filter: !sequence_f16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<5> : vector<1xi64>}
          ins(%image, %filter : !sequence_f16, !sequence_f16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_stride_5(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f16_stride_5 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_f16_groups(%image: !groups_f16, %filter: !groups_f16, %sums: !groups_f32) -> !groups_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %4 = arith.constant 4 : index
    %n = tensor.dim %sums, %0 : !groups_f32
    %g = tensor.dim %sums, %1 : !groups_f32
    %f = tensor.dim %sums, %2 : !groups_f32
    %h = tensor.dim %sums, %3 : !groups_f32
    %w = tensor.dim %sums, %4 : !groups_f32
    %c = tensor.dim %filter, %2 : !groups_f16
    %fh = tensor.dim %filter, %3 : !groups_f16
    %fw = tensor.dim %filter, %4 : !groups_f16
    %empty = tensor.empty(%n, %g, %c, %fh, %fw, %h, %w) : !grouped_windows_f16
    %windows = linalg.generic {indexing_maps = [#grouped_window, #grouped_point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !groups_f16) outs(%empty : !grouped_windows_f16) {
    ^bb0(%value: f16, %unused: f16):
      linalg.yield %value : f16
    } -> !grouped_windows_f16
    %rows = tensor.collapse_shape %filter [[0], [1], [2, 3, 4]] : !groups_f16 into !sequence_f16
    %columns = tensor.collapse_shape %windows [[0], [1], [2, 3, 4], [5, 6]] : !grouped_windows_f16 into !windows_f16
    %flat = tensor.collapse_shape %sums [[0], [1], [2], [3, 4]] : !groups_f32 into !windows_f32
    %products = linalg.contract indexing_maps = [#grouped_rows, #grouped_columns, #grouped_sums]
        ins(%rows, %columns : !sequence_f16, !windows_f16) outs(%flat : !windows_f32) -> !windows_f32
    %result = tensor.expand_shape %products [[0], [1], [2], [3, 4]] output_shape [%n, %g, %f, %h, %w] : !windows_f32 into !groups_f32
    util.return %result : !groups_f32
  }
  transform.named_sequence @match_f16_groups(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_ngchw_gfchw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !groups_f16, %filter: !groups_f16, %sums: !groups_f32):
      %result = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !groups_f16, !groups_f16) outs(%sums : !groups_f32) -> !groups_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[3], umin = 16, none : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_groups(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_f16_groups into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_bf16_stride_1(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_bf16
    %c = tensor.dim %image, %1 : !sequence_bf16
    %w = tensor.dim %image, %2 : !sequence_bf16
    %f = tensor.dim %filter, %0 : !sequence_bf16
    %fx = tensor.dim %filter, %2 : !sequence_bf16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_bf16
    %image_last = linalg.transpose ins(%image : !sequence_bf16) outs(%image_empty : !sequence_bf16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_bf16{%n, %w, %c} -> !sequence_bf16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_bf16
    %filter_last = linalg.transpose ins(%filter : !sequence_bf16) outs(%filter_empty : !sequence_bf16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_bf16
    %windows = linalg.generic {indexing_maps = [#window_1, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_bf16) outs(%empty : !windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !windows_bf16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_bf16 into !matrix_bf16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_bf16 into !matrix_bf16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_bf16, !matrix_bf16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_bf16_stride_1(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>}
          ins(%image, %filter : !sequence_bf16, !sequence_bf16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_bf16_stride_2(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_bf16
    %c = tensor.dim %image, %1 : !sequence_bf16
    %w = tensor.dim %image, %2 : !sequence_bf16
    %f = tensor.dim %filter, %0 : !sequence_bf16
    %fx = tensor.dim %filter, %2 : !sequence_bf16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_bf16
    %image_last = linalg.transpose ins(%image : !sequence_bf16) outs(%image_empty : !sequence_bf16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_bf16{%n, %w, %c} -> !sequence_bf16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_bf16
    %filter_last = linalg.transpose ins(%filter : !sequence_bf16) outs(%filter_empty : !sequence_bf16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_bf16
    %windows = linalg.generic {indexing_maps = [#window_2, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_bf16) outs(%empty : !windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !windows_bf16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_bf16 into !matrix_bf16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_bf16 into !matrix_bf16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_bf16, !matrix_bf16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_bf16_stride_2(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>}
          ins(%image, %filter : !sequence_bf16, !sequence_bf16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
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

  util.func private @product_bf16_stride_5(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32) -> !sequence_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %n = tensor.dim %image, %0 : !sequence_bf16
    %c = tensor.dim %image, %1 : !sequence_bf16
    %w = tensor.dim %image, %2 : !sequence_bf16
    %f = tensor.dim %filter, %0 : !sequence_bf16
    %fx = tensor.dim %filter, %2 : !sequence_bf16
    %x = tensor.dim %sums, %2 : !sequence_f32
    %image_empty = tensor.empty(%n, %w, %c) : !sequence_bf16
    %image_last = linalg.transpose ins(%image : !sequence_bf16) outs(%image_empty : !sequence_bf16) permutation = [0, 2, 1]
    %image_kept = iree_tensor_ext.compute_barrier.start %image_last : !sequence_bf16{%n, %w, %c} -> !sequence_bf16
    %filter_empty = tensor.empty(%fx, %c, %f) : !sequence_bf16
    %filter_last = linalg.transpose ins(%filter : !sequence_bf16) outs(%filter_empty : !sequence_bf16) permutation = [2, 1, 0]
    %sums_empty = tensor.empty(%n, %x, %f) : !sequence_f32
    %sums_last = linalg.transpose ins(%sums : !sequence_f32) outs(%sums_empty : !sequence_f32) permutation = [0, 2, 1]
    %empty = tensor.empty(%n, %x, %fx, %c) : !windows_bf16
    %windows = linalg.generic {indexing_maps = [#window_5, #point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%image_kept : !sequence_bf16) outs(%empty : !windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !windows_bf16
    %rows = tensor.collapse_shape %windows [[0, 1], [2, 3]] : !windows_bf16 into !matrix_bf16
    %columns = tensor.collapse_shape %filter_last [[0, 1], [2]] : !sequence_bf16 into !matrix_bf16
    %flat = tensor.collapse_shape %sums_last [[0, 1], [2]] : !sequence_f32 into !matrix_f32
    %products = linalg.matmul ins(%rows, %columns : !matrix_bf16, !matrix_bf16) outs(%flat : !matrix_f32) -> !matrix_f32
    %last = tensor.expand_shape %products [[0, 1], [2]] output_shape [%n, %x, %f] : !matrix_f32 into !sequence_f32
    %result_empty = tensor.empty(%n, %f, %x) : !sequence_f32
    %result = linalg.transpose ins(%last : !sequence_f32) outs(%result_empty : !sequence_f32) permutation = [0, 2, 1]
    util.return %result : !sequence_f32
  }
  transform.named_sequence @match_bf16_stride_5(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_1d_ncw_fcw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !sequence_bf16, %filter: !sequence_bf16, %sums: !sequence_f32):
      %result = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<5> : vector<1xi64>}
          ins(%image, %filter : !sequence_bf16, !sequence_bf16) outs(%sums : !sequence_f32) -> !sequence_f32
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_stride_5(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_bf16_stride_5 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @product_bf16_groups(%image: !groups_bf16, %filter: !groups_bf16, %sums: !groups_f32) -> !groups_f32 {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %3 = arith.constant 3 : index
    %4 = arith.constant 4 : index
    %n = tensor.dim %sums, %0 : !groups_f32
    %g = tensor.dim %sums, %1 : !groups_f32
    %f = tensor.dim %sums, %2 : !groups_f32
    %h = tensor.dim %sums, %3 : !groups_f32
    %w = tensor.dim %sums, %4 : !groups_f32
    %c = tensor.dim %filter, %2 : !groups_bf16
    %fh = tensor.dim %filter, %3 : !groups_bf16
    %fw = tensor.dim %filter, %4 : !groups_bf16
    %empty = tensor.empty(%n, %g, %c, %fh, %fw, %h, %w) : !grouped_windows_bf16
    %windows = linalg.generic {indexing_maps = [#grouped_window, #grouped_point],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%image : !groups_bf16) outs(%empty : !grouped_windows_bf16) {
    ^bb0(%value: bf16, %unused: bf16):
      linalg.yield %value : bf16
    } -> !grouped_windows_bf16
    %rows = tensor.collapse_shape %filter [[0], [1], [2, 3, 4]] : !groups_bf16 into !sequence_bf16
    %columns = tensor.collapse_shape %windows [[0], [1], [2, 3, 4], [5, 6]] : !grouped_windows_bf16 into !windows_bf16
    %flat = tensor.collapse_shape %sums [[0], [1], [2], [3, 4]] : !groups_f32 into !windows_f32
    %products = linalg.contract indexing_maps = [#grouped_rows, #grouped_columns, #grouped_sums]
        ins(%rows, %columns : !sequence_bf16, !windows_bf16) outs(%flat : !windows_f32) -> !windows_f32
    %result = tensor.expand_shape %products [[0], [1], [2], [3, 4]] output_shape [%n, %g, %f, %h, %w] : !windows_f32 into !groups_f32
    util.return %result : !groups_f32
  }
  transform.named_sequence @match_bf16_groups(%op: !op {transform.readonly}) -> (!values, !values) {
    transform.match.operation_name %op ["linalg.conv_2d_ngchw_gfchw"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%image: !groups_bf16, %filter: !groups_bf16, %sums: !groups_f32):
      %result = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
          ins(%image, %filter : !groups_bf16, !groups_bf16) outs(%sums : !groups_f32) -> !groups_f32
    } : (!op) -> (!values, !values)
    %filter = transform.get_operand %op[1] : (!op) -> !values
    transform.iree.match.dim_bounds %filter[3], umin = 16, none : !values
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_groups(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @product_bf16_groups into %module if undefined : (!op) -> !op
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
          @match_f32_stride_5 -> @replace_f32_stride_5,
          @match_f32_groups -> @replace_f32_groups,
          @match_f16_stride_1 -> @replace_f16_stride_1,
          @match_f16_stride_2 -> @replace_f16_stride_2,
          @match_f16_stride_5 -> @replace_f16_stride_5,
          @match_f16_groups -> @replace_f16_groups,
          @match_bf16_stride_1 -> @replace_bf16_stride_1,
          @match_bf16_stride_2 -> @replace_bf16_stride_2,
          @match_bf16_stride_5 -> @replace_bf16_stride_5,
          @match_bf16_groups -> @replace_bf16_groups
        : (!op) -> !op
    }
    transform.apply_dce to %module : !op
    transform.yield
  }
}
