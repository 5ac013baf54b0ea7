#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_matmul_32x512x256_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_matmul_32x512x256_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<32x256xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<readonly:tensor<256x512xf32>>, %arg2: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32x512xf32>>) {
        %cst = arith.constant 0.000000e+00 : f32
        %cst_0 = arith.constant 1.000000e+00 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0, 0], sizes = [32, 256], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<32x256xf32>> -> tensor<32x256xf32>
        %1 = iree_tensor_ext.dispatch.tensor.load %arg1, offsets = [0, 0], sizes = [256, 512], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<256x512xf32>> -> tensor<256x512xf32>
        %2 = tensor.empty() : tensor<32x512xf32>
        %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<32x512xf32>) -> tensor<32x512xf32>
        %4 = linalg.matmul ins(%0, %1 : tensor<32x256xf32>, tensor<256x512xf32>) outs(%3 : tensor<32x512xf32>) -> tensor<32x512xf32>
        %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<32x512xf32>) outs(%2 : tensor<32x512xf32>) {
        ^bb0(%in: f32, %out: f32):
          %6 = arith.maximumf %in, %cst : f32
          %7 = arith.addf %6, %cst_0 : f32
          linalg.yield %7 : f32
        } -> tensor<32x512xf32>
        iree_tensor_ext.dispatch.tensor.store %5, %arg2, offsets = [0, 0], sizes = [32, 512], strides = [1, 1] : tensor<32x512xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32x512xf32>>
        return
      }
    }
  }
  func.func @run_main_dispatch_0_matmul_32x512x256_f32(%arg0: tensor<32x256xf32>, %arg1: tensor<256x512xf32>) -> tensor<32x512xf32> {
    %0 = flow.dispatch @main_dispatch_0::@main_dispatch_0_matmul_32x512x256_f32(%arg0, %arg1) : (tensor<32x256xf32>, tensor<256x512xf32>) -> tensor<32x512xf32>
    return %0 : tensor<32x512xf32>
  }
}
