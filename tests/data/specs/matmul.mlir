// Expected speedup: 1.50x.
#config = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
module @frontrunner_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "__frontrunner_spec_applied__" : !transform.any_op
    transform.yield 
  }
  transform.named_sequence @match_contraction_64x128x96_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [96] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @leave_encoded(%arg0: !transform.any_op {transform.readonly}) {
    transform.yield 
  }
  transform.named_sequence @match_encoded_product(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured %arg0 : !transform.any_op {
    ^bb0(%arg1: !transform.any_op):
      %2 = transform.match.structured.num_inputs %arg1 : (!transform.any_op) -> !transform.param<i64>
      %3 = transform.param.constant 2 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %2, %3 : !transform.param<i64>
      %4 = transform.match.structured.num_inits %arg1 : (!transform.any_op) -> !transform.param<i64>
      %5 = transform.param.constant 1 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %4, %5 : !transform.param<i64>
    }
    %0 = transform.get_producer_of_operand %arg0[2] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["linalg.fill", "iree_encoding.set_encoding", "iree_codegen.load_from_buffer", "iree_tensor_ext.dispatch.tensor.load"] : !transform.any_op
    %1 = transform.match.structured %arg0 : (!transform.any_op) -> !transform.any_op {
    ^bb0(%arg1: !transform.any_op):
      %2 = transform.match.structured.result %arg1[0] single : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %2 : !transform.any_op
    }
    transform.match.operation_name %1 ["iree_encoding.unset_encoding"] : !transform.any_op
    transform.yield %arg0 : !transform.any_op
  }
  transform.named_sequence @match_encoded_and_fused(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured %arg0 : !transform.any_op {
    ^bb0(%arg1: !transform.any_op):
      %3 = transform.match.structured.num_inputs %arg1 : (!transform.any_op) -> !transform.param<i64>
      %4 = transform.param.constant 2 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %3, %4 : !transform.param<i64>
      %5 = transform.match.structured.num_inits %arg1 : (!transform.any_op) -> !transform.param<i64>
      %6 = transform.param.constant 1 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %5, %6 : !transform.param<i64>
    }
    %0 = transform.get_producer_of_operand %arg0[2] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["linalg.fill", "iree_encoding.set_encoding", "iree_codegen.load_from_buffer", "iree_tensor_ext.dispatch.tensor.load"] : !transform.any_op
    %1 = transform.match.structured %arg0 : (!transform.any_op) -> !transform.any_op {
    ^bb0(%arg1: !transform.any_op):
      %3 = transform.match.structured.result %arg1[0] single : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %3 : !transform.any_op
    }
    %2 = transform.match.structured %1 : (!transform.any_op) -> !transform.any_op {
    ^bb0(%arg1: !transform.any_op):
      %3 = transform.match.structured.result %arg1[0] single : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %3 : !transform.any_op
    }
    transform.match.operation_name %2 ["iree_encoding.unset_encoding"] : !transform.any_op
    transform.yield %arg0 : !transform.any_op
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_encoded_product -> @leave_encoded, 
        @match_encoded_and_fused -> @leave_encoded, 
        @match_contraction_64x128x96_f32_f32_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
