module @frontrunner_spec attributes { transform.with_named_sequence } {
transform.named_sequence @apply_op_config(
    %op: !transform.any_op {transform.readonly},
    %config: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.annotate %op "__frontrunner_spec_applied__" : !transform.any_op
  transform.yield
}

transform.named_sequence @match_contraction_8x16x8_f32_f32_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [8] : !transform.param<i64>
  %config = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [6, 0, 0], vector_common_parallel = [6, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %config : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(
    %variant_op: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes { iree_codegen.tuning_spec_entrypoint } {
  %res = transform.foreach_match in %variant_op
    // c001_dist-6x16_cache-6x16x8_vec-6x16x4_peel-1
    @match_contraction_8x16x8_f32_f32_f32 -> @apply_op_config
    : (!transform.any_op) -> !transform.any_op
  transform.yield %res : !transform.any_op
}
}
