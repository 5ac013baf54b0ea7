// Two products, whose rows are four times as many as the first input's, known when it is called.
func.func @main(%x: tensor<?x4x64xf32>, %w: tensor<64x96xf32>, %v: tensor<96x128xf32>) -> tensor<?x128xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x4x64xf32> into tensor<?x64xf32>
  %count = tensor.dim %rows, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%count) : tensor<?x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.matmul ins(%rows, %w : tensor<?x64xf32>, tensor<64x96xf32>)
      outs(%f : tensor<?x96xf32>) -> tensor<?x96xf32>
  %e2 = tensor.empty(%count) : tensor<?x128xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x128xf32>) -> tensor<?x128xf32>
  %z = linalg.matmul ins(%y, %v : tensor<?x96xf32>, tensor<96x128xf32>)
      outs(%f2 : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %z : tensor<?x128xf32>
}
