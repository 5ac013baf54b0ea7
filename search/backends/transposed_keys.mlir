// Has the compiler lay out keys of attention with the head dim first, before anything else is done:
// see `cpu.py`.
//
// Scores are products of rows with keys. With vectors along keys, these have to be contiguous, and
// as models have them the head dim is: the compiler transposes each tile of them in registers, for
// every few rows anew. Here they are transposed once, by what makes them; the barrier keeps the
// compiler from undoing it. All types and masks that torch exports have a part below:
// [queries, keys, values] in f32, f16 or bf16, without a mask, with i1 or with the same type, and with
// a scale in f32 or, where the model gives one (`_scale`), in the same type.
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#transposed = affine_map<(b, m, n, k1, k2) -> (b, k1, k2)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#mask = affine_map<(b, m, n, k1, k2) -> (b, m, k2)>
#out = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

!f32s = tensor<?x?x?xf32>
!f16s = tensor<?x?x?xf16>
!bf16s = tensor<?x?x?xbf16>
!i1s = tensor<?x?x?xi1>
!op = !transform.any_op
!values = !transform.any_value

module attributes {transform.with_named_sequence} {
  util.func private @attention_f32(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %out: !f32s)
      -> !f32s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f32s
    %k2 = tensor.dim %key, %keys : !f32s
    %k1 = tensor.dim %key, %head : !f32s
    %empty = tensor.empty(%b, %k1, %k2) : !f32s
    %moved = linalg.transpose ins(%key : !f32s) outs(%empty : !f32s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f32s{%b, %k1, %k2} -> !f32s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #out]>
        ins(%query, %kept, %value, %scale : !f32s, !f32s, !f32s, f32) outs(%out : !f32s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f32s
    util.return %result : !f32s
  }
  transform.named_sequence @match_f32(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %out: !f32s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #out]>
          ins(%query, %key, %value, %scale : !f32s, !f32s, !f32s, f32) outs(%out : !f32s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f32s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f32 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f32_i1(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %mask: !i1s, %out: !f32s)
      -> !f32s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f32s
    %k2 = tensor.dim %key, %keys : !f32s
    %k1 = tensor.dim %key, %head : !f32s
    %empty = tensor.empty(%b, %k1, %k2) : !f32s
    %moved = linalg.transpose ins(%key : !f32s) outs(%empty : !f32s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f32s{%b, %k1, %k2} -> !f32s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f32s, !f32s, !f32s, f32, !i1s) outs(%out : !f32s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f32s
    util.return %result : !f32s
  }
  transform.named_sequence @match_f32_i1(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %mask: !i1s, %out: !f32s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f32s, !f32s, !f32s, f32, !i1s) outs(%out : !f32s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f32s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_i1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f32_i1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f32_f32(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %mask: !f32s, %out: !f32s)
      -> !f32s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f32s
    %k2 = tensor.dim %key, %keys : !f32s
    %k1 = tensor.dim %key, %head : !f32s
    %empty = tensor.empty(%b, %k1, %k2) : !f32s
    %moved = linalg.transpose ins(%key : !f32s) outs(%empty : !f32s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f32s{%b, %k1, %k2} -> !f32s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f32s, !f32s, !f32s, f32, !f32s) outs(%out : !f32s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f32s
    util.return %result : !f32s
  }
  transform.named_sequence @match_f32_f32(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f32s, %key: !f32s, %value: !f32s, %scale: f32, %mask: !f32s, %out: !f32s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f32s, !f32s, !f32s, f32, !f32s) outs(%out : !f32s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f32s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f32_f32(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f32_f32 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #out]>
        ins(%query, %kept, %value, %scale : !f16s, !f16s, !f16s, f32) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #out]>
          ins(%query, %key, %value, %scale : !f16s, !f16s, !f16s, f32) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16_scale(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #out]>
        ins(%query, %kept, %value, %scale : !f16s, !f16s, !f16s, f16) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #out]>
          ins(%query, %key, %value, %scale : !f16s, !f16s, !f16s, f16) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16_scale into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16_i1(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %mask: !i1s, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f16s, !f16s, !f16s, f32, !i1s) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16_i1(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %mask: !i1s, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f16s, !f16s, !f16s, f32, !i1s) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_i1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16_i1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16_i1_scale(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %mask: !i1s, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f16s, !f16s, !f16s, f16, !i1s) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16_i1_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %mask: !i1s, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f16s, !f16s, !f16s, f16, !i1s) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_i1_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16_i1_scale into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16_f16(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %mask: !f16s, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f16s, !f16s, !f16s, f32, !f16s) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16_f16(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f32, %mask: !f16s, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f16s, !f16s, !f16s, f32, !f16s) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_f16(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16_f16 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_f16_f16_scale(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %mask: !f16s, %out: !f16s)
      -> !f16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !f16s
    %k2 = tensor.dim %key, %keys : !f16s
    %k1 = tensor.dim %key, %head : !f16s
    %empty = tensor.empty(%b, %k1, %k2) : !f16s
    %moved = linalg.transpose ins(%key : !f16s) outs(%empty : !f16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !f16s{%b, %k1, %k2} -> !f16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !f16s, !f16s, !f16s, f16, !f16s) outs(%out : !f16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !f16s
    util.return %result : !f16s
  }
  transform.named_sequence @match_f16_f16_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !f16s, %key: !f16s, %value: !f16s, %scale: f16, %mask: !f16s, %out: !f16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !f16s, !f16s, !f16s, f16, !f16s) outs(%out : !f16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !f16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_f16_f16_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_f16_f16_scale into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #out]>
        ins(%query, %kept, %value, %scale : !bf16s, !bf16s, !bf16s, f32) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #out]>
          ins(%query, %key, %value, %scale : !bf16s, !bf16s, !bf16s, f32) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16_scale(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #out]>
        ins(%query, %kept, %value, %scale : !bf16s, !bf16s, !bf16s, bf16) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #out]>
          ins(%query, %key, %value, %scale : !bf16s, !bf16s, !bf16s, bf16) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16_scale into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16_i1(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %mask: !i1s, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, f32, !i1s) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16_i1(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %mask: !i1s, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, f32, !i1s) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_i1(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16_i1 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16_i1_scale(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %mask: !i1s, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, bf16, !i1s) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16_i1_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %mask: !i1s, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, bf16, !i1s) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_i1_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16_i1_scale into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16_bf16(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %mask: !bf16s, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, f32, !bf16s) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16_bf16(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: f32, %mask: !bf16s, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, f32, !bf16s) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_bf16(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16_bf16 into %module if undefined : (!op) -> !op
    transform.util.cast_and_call inline_call %function(%ins) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!op, !values, !values, !op) -> ()
    transform.yield
  }

  util.func private @attention_bf16_bf16_scale(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %mask: !bf16s, %out: !bf16s)
      -> !bf16s {
    %batch = arith.constant 0 : index
    %keys = arith.constant 1 : index
    %head = arith.constant 2 : index
    %b = tensor.dim %key, %batch : !bf16s
    %k2 = tensor.dim %key, %keys : !bf16s
    %k1 = tensor.dim %key, %head : !bf16s
    %empty = tensor.empty(%b, %k1, %k2) : !bf16s
    %moved = linalg.transpose ins(%key : !bf16s) outs(%empty : !bf16s) permutation = [0, 2, 1]
    %kept = iree_tensor_ext.compute_barrier.start %moved : !bf16s{%b, %k1, %k2} -> !bf16s
    %result = iree_linalg_ext.attention <indexing_maps = [#query, #transposed, #value, #scale, #mask, #out]>
        ins(%query, %kept, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, bf16, !bf16s) outs(%out : !bf16s) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    } -> !bf16s
    util.return %result : !bf16s
  }
  transform.named_sequence @match_bf16_bf16_scale(%op: !op {transform.readonly})
      -> (!values, !values) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !op
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%query: !bf16s, %key: !bf16s, %value: !bf16s, %scale: bf16, %mask: !bf16s, %out: !bf16s):
      %result = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mask, #out]>
          ins(%query, %key, %value, %scale, %mask : !bf16s, !bf16s, !bf16s, bf16, !bf16s) outs(%out : !bf16s) {
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      } -> !bf16s
    } : (!op) -> (!values, !values)
    transform.yield %ins, %outs : !values, !values
  }
  transform.named_sequence @replace_bf16_bf16_scale(
      %ins: !values {transform.readonly}, %out: !values {transform.readonly}) {
    %op = transform.get_defining_op %out : (!values) -> !op
    %module = transform.util.get_nearest_symbol_table %op : (!op) -> !op
    %function = transform.util.import_symbol @attention_bf16_bf16_scale into %module if undefined : (!op) -> !op
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
          @match_f32 -> @replace_f32,
          @match_f32_i1 -> @replace_f32_i1,
          @match_f32_f32 -> @replace_f32_f32,
          @match_f16 -> @replace_f16,
          @match_f16_scale -> @replace_f16_scale,
          @match_f16_i1 -> @replace_f16_i1,
          @match_f16_i1_scale -> @replace_f16_i1_scale,
          @match_f16_f16 -> @replace_f16_f16,
          @match_f16_f16_scale -> @replace_f16_f16_scale,
          @match_bf16 -> @replace_bf16,
          @match_bf16_scale -> @replace_bf16_scale,
          @match_bf16_i1 -> @replace_bf16_i1,
          @match_bf16_i1_scale -> @replace_bf16_i1_scale,
          @match_bf16_bf16 -> @replace_bf16_bf16,
          @match_bf16_bf16_scale -> @replace_bf16_bf16_scale
        : (!op) -> !op
    }
    transform.apply_dce to %module : !op
    transform.yield
  }
}
