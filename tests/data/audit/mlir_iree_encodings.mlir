// -----// IR Dump After SpecializeEncodingsPass: iree-stream-specialize-encodings //----- //
#encoding = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [1, 0], innerTileSizes = [16, 1], outerDimsPerm = [1, 0]}}>]>
#encoding1 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}}>]>
#encoding2 = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [16, 16], outerDimsPerm = [0, 1]}}>]>
#executable_target_embedded_elf_x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d1, d0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#device_target_local = #hal.device.target<"local", [#executable_target_embedded_elf_x86_64]> : !hal.device
#encoding3 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [60, 72, 100]>
#encoding4 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [60, 72, 100]>
#encoding5 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [60, 72, 100]>
#encoding6 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, [#map2, #map3]], iteration_sizes = [60, 72, 100]>
module attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #device_target_local
  util.global private @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
  util.global private @__hoisted_tensor_100x72xf32__encoded__size : index
  util.initializer {
    %cst = arith.constant 5.000000e-01 : f32
    %0 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<100x72xf32> : index
    %1 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<100x72xf32, #encoding> : index
    %2 = stream.tensor.splat on(#hal.device.affinity<@__device_0>) %cst : f32 -> tensor<100x72xf32> in !stream.resource<*>{%0}
    %3 = stream.tensor.encode on(#hal.device.affinity<@__device_0>) %2 : tensor<100x72xf32> in !stream.resource<*>{%0} -> tensor<100x72xf32, #encoding> in !stream.resource<*>{%1}
    %4 = stream.async.clone on(#hal.device.affinity<@__device_0>) %3 : !stream.resource<*>{%1} -> !stream.resource<constant>{%1}
    util.global.store %4, @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
    util.global.store %1, @__hoisted_tensor_100x72xf32__encoded__size : index
    util.return
  }
  stream.executable private @net_dispatch_0 {
    stream.executable.export public @net_dispatch_0_matmul_60x72x100_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      stream.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @net_dispatch_0_matmul_60x72x100_f32(%arg0: !stream.binding, %arg1: !stream.binding, %arg2: !stream.binding, %arg3: !stream.binding) {
        %c0 = arith.constant 0 : index
        %0 = stream.binding.subspan %arg0[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<60x100xf32, #encoding1>>
        %1 = stream.binding.subspan %arg1[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<100x72xf32, #encoding>>
        %2 = stream.binding.subspan %arg2[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<60x72xf32, #encoding2>>
        %3 = stream.binding.subspan %arg3[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<72x60xf32>>
        %4 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0, 0], sizes = [60, 100], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<60x100xf32, #encoding1>> -> tensor<60x100xf32, #encoding3>
        %5 = iree_tensor_ext.dispatch.tensor.load %1, offsets = [0, 0], sizes = [100, 72], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<100x72xf32, #encoding>> -> tensor<100x72xf32, #encoding4>
        %6 = iree_tensor_ext.dispatch.tensor.load %2, offsets = [0, 0], sizes = [60, 72], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<60x72xf32, #encoding2>> -> tensor<60x72xf32, #encoding5>
        %7 = linalg.matmul ins(%4, %5 : tensor<60x100xf32, #encoding3>, tensor<100x72xf32, #encoding4>) outs(%6 : tensor<60x72xf32, #encoding5>) -> tensor<60x72xf32, #encoding5>
        %8 = tensor.empty() : tensor<72x60xf32, #encoding6>
        %9 = linalg.generic {indexing_maps = [#map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<60x72xf32, #encoding5>) outs(%8 : tensor<72x60xf32, #encoding6>) {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<72x60xf32, #encoding6>
        %10 = iree_encoding.unset_encoding %9 : tensor<72x60xf32, #encoding6> -> tensor<72x60xf32>
        iree_tensor_ext.dispatch.tensor.store %10, %3, offsets = [0, 0], sizes = [72, 60], strides = [1, 1] : tensor<72x60xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<72x60xf32>>
        return
      }
    }
  }
  util.func public @net(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @net(%input0: tensor<60x100xf32>, %input1: tensor<60x72xf32>) -> (%output0: tensor<72x60xf32>)"}} {
    %c72 = arith.constant 72 : index
    %c100 = arith.constant 100 : index
    %c60 = arith.constant 60 : index
    %__hoisted_tensor_100x72xf32__encoded = util.global.load immutable @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
    %__hoisted_tensor_100x72xf32__encoded__size = util.global.load immutable @__hoisted_tensor_100x72xf32__encoded__size : index
    %0 = stream.async.clone on(#hal.device.affinity<@__device_0>) %__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>{%__hoisted_tensor_100x72xf32__encoded__size} -> !stream.resource<*>{%__hoisted_tensor_100x72xf32__encoded__size}
    %element_type_f32 = hal.element_type<f32> : i32
    %dense_row_major = hal.encoding_type<dense_row_major> : i32
    hal.buffer_view.assert<%arg0 : !hal.buffer_view> message("input0") shape([%c60, %c100]) type(%element_type_f32) encoding(%dense_row_major)
    %1 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<60x100xf32> : index
    %2 = stream.tensor.import on(#hal.device.affinity<@__device_0>) %arg0 : !hal.buffer_view -> tensor<60x100xf32> in !stream.resource<external>{%1}
    %3 = stream.async.cast on(#hal.device.affinity<@__device_0>) %2 : !stream.resource<external>{%1} -> !stream.resource<*>{%1}
    hal.buffer_view.assert<%arg1 : !hal.buffer_view> message("input1") shape([%c60, %c72]) type(%element_type_f32) encoding(%dense_row_major)
    %4 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<60x72xf32> : index
    %5 = stream.tensor.import on(#hal.device.affinity<@__device_0>) %arg1 : !hal.buffer_view -> tensor<60x72xf32> in !stream.resource<external>{%4}
    %6 = stream.async.cast on(#hal.device.affinity<@__device_0>) %5 : !stream.resource<external>{%4} -> !stream.resource<*>{%4}
    %7 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<60x100xf32, #encoding1> : index
    %8 = stream.tensor.encode on(#hal.device.affinity<@__device_0>) %3 : tensor<60x100xf32> in !stream.resource<*>{%1} -> tensor<60x100xf32, #encoding1> in !stream.resource<*>{%7}
    %9 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<60x72xf32, #encoding2> : index
    %10 = stream.tensor.encode on(#hal.device.affinity<@__device_0>) %6 : tensor<60x72xf32> in !stream.resource<*>{%4} -> tensor<60x72xf32, #encoding2> in !stream.resource<*>{%9}
    %11 = stream.tensor.sizeof on(#hal.device.affinity<@__device_0>) tensor<72x60xf32> : index
    %12 = stream.tensor.dispatch on(#hal.device.affinity<@__device_0>) @net_dispatch_0::@net_dispatch_0_matmul_60x72x100_f32(%8, %0, %10) : (tensor<60x100xf32, #encoding1> in !stream.resource<*>{%7}, tensor<100x72xf32, #encoding> in !stream.resource<*>{%__hoisted_tensor_100x72xf32__encoded__size}, tensor<60x72xf32, #encoding2> in !stream.resource<*>{%9}) -> tensor<72x60xf32> in !stream.resource<*>{%11}
    %13 = stream.async.cast on(#hal.device.affinity<@__device_0>) %12 : !stream.resource<*>{%11} -> !stream.resource<external>{%11}
    %14 = stream.tensor.export on(#hal.device.affinity<@__device_0>) %13 : tensor<72x60xf32> in !stream.resource<external>{%11} -> !hal.buffer_view
    util.return %14 : !hal.buffer_view
  }
}


