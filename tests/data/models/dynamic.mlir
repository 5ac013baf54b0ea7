// The number of rows is only known when the model is called.
func.func @main(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) -> tensor<?x96xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x96xf32>)
      outs(%init : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
