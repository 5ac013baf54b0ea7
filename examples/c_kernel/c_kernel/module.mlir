// A module with one dispatch, which calls the C function once for each workgroup.
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {
  cpu = "generic", cpu_features = "", native_vector_size = 16 : i64,
  target_triple = "x86_64-unknown-unknown-eabi-elf",
  data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
}>
#device = #hal.device.target<"local", [#target]> : !hal.device
!a = memref<${M}x${K}xf32>
!b = memref<${K}x${N}xf32>
!c = memref<${M}x${N}xf32>

module attributes {hal.device.targets = [#device]} {
  stream.executable private @kernel attributes {
    hal.executable.objects = #hal.executable.objects<{
      #target = [#hal.executable.object<{path = "${object}"}>]
    }>
  } {
    stream.executable.export public @product workgroups() -> (index, index, index) {
      %columns = arith.constant ${columns} : index
      %rows = arith.constant ${rows} : index
      %one = arith.constant 1 : index
      stream.return %columns, %rows, %one : index, index, index
    }
    builtin.module {
      func.func private @product_tile(!a, !b, !c, index, index) attributes {
        hal.import.static, llvm.bareptr = [true]
      }
      func.func @product(%a: !stream.binding, %b: !stream.binding, %c: !stream.binding) {
        %start = arith.constant 0 : index
        %column = hal.interface.workgroup.id[0] : index
        %row = hal.interface.workgroup.id[1] : index
        %lhs = stream.binding.subspan %a[%start] : !stream.binding -> !a
        %rhs = stream.binding.subspan %b[%start] : !stream.binding -> !b
        %out = stream.binding.subspan %c[%start] : !stream.binding -> !c
        func.call @product_tile(%lhs, %rhs, %out, %row, %column) : (!a, !b, !c, index, index) -> ()
        return
      }
    }
  }
  func.func @${function}(%a: tensor<${M}x${K}xf32>, %b: tensor<${K}x${N}xf32>) -> tensor<${M}x${N}xf32> {
    %out = flow.dispatch @kernel::@product(%a, %b)
      : (tensor<${M}x${K}xf32>, tensor<${K}x${N}xf32>) -> tensor<${M}x${N}xf32>
    return %out : tensor<${M}x${N}xf32>
  }
}
