#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64] subgroup_size = 64>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{workgroup = [1, 64, 0, 0, 0]}>, translation_info = #translation>
module @frontrunner_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_attention_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}, %arg2: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "decomposition_config" = %arg2 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "__frontrunner_spec_applied__" : !transform.any_op
    transform.yield 
  }
  transform.named_sequence @match_attention_4x32x16x16x64_f32_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<4x32x16xf32> : !transform.any_value
    %1 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %1 = tensor<4x64x16xf32> : !transform.any_value
    %2 = transform.get_operand %arg0[2] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %2 = tensor<4x64x16xf32> : !transform.any_value
    %3 = transform.get_operand %arg0[4] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %3 = tensor<4x32x16xf32> : !transform.any_value
    %4 = transform.get_operand %arg0[5] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %4 = tensor<4x32xf32> : !transform.any_value
    %5 = transform.param.constant #compilation -> !transform.any_param
    %6 = transform.param.constant {pv_attrs = {attention_pv_matmul}, qk_attrs = {attention_qk_matmul}} -> !transform.any_param
    transform.yield %arg0, %5, %6 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_attention_4x32x16x16x64_f32_f32_f32_f32 -> @apply_attention_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
