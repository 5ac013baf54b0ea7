#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
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
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x32x16xf32>, %arg2: tensor<4x64x16xf32>, %arg3: tensor<4x64x16xf32>, %arg4: f32, %arg5: tensor<4x32x16xf32>, %arg6: tensor<4x32xf32>, %arg7: tensor<4x32xf32>):
      %2:3 = iree_linalg_ext.online_attention <indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map5]> ins(%arg1, %arg2, %arg3, %arg4 : tensor<4x32x16xf32>, tensor<4x64x16xf32>, tensor<4x64x16xf32>, f32) outs(%arg5, %arg6, %arg7 : tensor<4x32x16xf32>, tensor<4x32xf32>, tensor<4x32xf32>) {
      ^bb0(%arg8: f32):
        iree_linalg_ext.yield %arg8 : f32
      } -> tensor<4x32x16xf32>, tensor<4x32xf32>, tensor<4x32xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {attention_pv_matmul}, qk_attrs = {attention_qk_matmul}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_attention_4x32x16x16x64_f32_f32_f32_f32 -> @apply_attention_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
