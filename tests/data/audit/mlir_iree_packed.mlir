module attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  util.global private @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
  hal.executable private @_encoding_0 {
    hal.executable.variant public @embedded_elf_x86_64 target(<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
      hal.executable.export public @_encoding_0_encode_100x72xf32_to_100x72xf32 ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>], flags = None>) count(%arg0: !hal.device) -> (index, index, index) {
        %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
        hal.return %x, %y, %z : index, index, index
      }
      builtin.module {
        func.func @_encoding_0_encode_100x72xf32_to_100x72xf32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DataTiling>>} {
          %cst = arith.constant 0.000000e+00 : f32
          %c0 = arith.constant 0 : index
          %0 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>], flags = None>) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<100x72xf32, #hal.descriptor_type<storage_buffer>>
          %1 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>], flags = None>) binding(1) alignment(64) offset(%c0) flags("None") : memref<5x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          %2 = iree_codegen.load_from_buffer %0 : memref<100x72xf32, #hal.descriptor_type<storage_buffer>> -> tensor<100x72xf32>
          %3 = tensor.empty() : tensor<5x100x16x1xf32>
          %pack = linalg.pack %2 padding_value(%cst : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 1] into %3 {lowering_config = #iree_cpu.lowering_config<distribution = [1, 50], vector_common_parallel = [1, 1]>} : tensor<100x72xf32> -> tensor<5x100x16x1xf32>
          iree_codegen.store_to_buffer %pack, %1 : tensor<5x100x16x1xf32> into memref<5x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          return
        }
        iree_codegen.dispatch_config @_encoding_0_encode_100x72xf32_to_100x72xf32 {
        ^bb0(%arg0: !hal.device):
          %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
          iree_codegen.yield %x, %y, %z : index, index, index
        }
      }
    }
  }
  util.initializer {
    %c0 = arith.constant 0 : index
    %c28800 = arith.constant 28800 : index
    %c32000 = arith.constant 32000 : index
    %c1056964608_i32 = arith.constant 1056964608 : i32
    %result, %result_timepoint = stream.resource.alloca uninitialized on(#hal.device.affinity<@__device_0>) : !stream.resource<constant>{%c32000} => !stream.timepoint
    %result_0, %result_timepoint_1 = stream.resource.alloca uninitialized on(#hal.device.affinity<@__device_0>) : !stream.resource<transient>{%c28800} => !stream.timepoint
    %0 = stream.timepoint.join max(%result_timepoint, %result_timepoint_1) => !stream.timepoint
    %1 = stream.cmd.execute once on(#hal.device.affinity<@__device_0>) await(%0) => with(%result as %arg0: !stream.resource<constant>{%c32000}, %result_0 as %arg1: !stream.resource<transient>{%c28800}) {
      stream.cmd.fill %c1056964608_i32, %arg1[%c0 for %c28800] : i32 -> !stream.resource<transient>{%c28800}
      stream.cmd.dispatch @_encoding_0::@embedded_elf_x86_64::@_encoding_0_encode_100x72xf32_to_100x72xf32 {
        ro %arg1[%c0 for %c28800] : !stream.resource<transient>{%c28800},
        wo %arg0[%c0 for %c32000] : !stream.resource<constant>{%c32000}
      }
    } => !stream.timepoint
    %2 = stream.resource.dealloca on(#hal.device.affinity<@__device_0>) await(%1) => %result_0 : !stream.resource<transient>{%c28800} => !stream.timepoint
    %3 = stream.timepoint.await sync %2 => %result : !stream.resource<constant>{%c32000}
    util.global.store %3, @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
    util.return
  }
  hal.executable private @net_dispatch_0 {
    hal.executable.variant public @embedded_elf_x86_64 target(<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
      hal.executable.export public @net_dispatch_0_matmul_60x72x100_f32 ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%arg0: !hal.device) -> (index, index, index) {
        %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
        hal.return %x, %y, %z : index, index, index
      }
      builtin.module {
        func.func @net_dispatch_0_matmul_60x72x100_f32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>>} {
          %cst = arith.constant 0.000000e+00 : f32
          %c0 = arith.constant 0 : index
          %c25600 = arith.constant 25600 : index
          %0 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<4x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          %1 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<5x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          %2 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(0) alignment(64) offset(%c25600) flags("ReadOnly|Indirect") : memref<4x5x16x16xf32, strided<[1280, 256, 16, 1], offset: ?>, #hal.descriptor_type<storage_buffer>>
          %3 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(2) alignment(64) offset(%c0) flags(Indirect) : memref<72x60xf32, #hal.descriptor_type<storage_buffer>>
          %4 = iree_codegen.load_from_buffer %0 : memref<4x100x16x1xf32, #hal.descriptor_type<storage_buffer>> -> tensor<4x100x16x1xf32>
          %5 = iree_codegen.load_from_buffer %1 : memref<5x100x16x1xf32, #hal.descriptor_type<storage_buffer>> -> tensor<5x100x16x1xf32>
          %6 = iree_codegen.load_from_buffer %2 : memref<4x5x16x16xf32, strided<[1280, 256, 16, 1], offset: ?>, #hal.descriptor_type<storage_buffer>> -> tensor<4x5x16x16xf32>
          %7 = tensor.empty() : tensor<4x5x16x16xf32>
          %8 = linalg.fill {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [1, 1, 16, 16]>} ins(%cst : f32) outs(%7 : tensor<4x5x16x16xf32>) -> tensor<4x5x16x16xf32>
          %9 = linalg.mmt4d {lowering_config = #iree_cpu.lowering_config<distribution = [4, 1, 0, 0, 0, 0], vector_common_parallel = [1, 1, 0, 16, 16, 0], vector_reduction = [0, 0, 1, 0, 0, 1]>} ins(%4, %5 : tensor<4x100x16x1xf32>, tensor<5x100x16x1xf32>) outs(%8 : tensor<4x5x16x16xf32>) -> tensor<4x5x16x16xf32>
          %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %6 : tensor<4x5x16x16xf32>, tensor<4x5x16x16xf32>) outs(%7 : tensor<4x5x16x16xf32>) attrs =  {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [1, 1, 16, 16]>} {
          ^bb0(%in: f32, %in_0: f32, %out: f32):
            %14 = arith.addf %in, %in_0 : f32
            linalg.yield %14 : f32
          } -> tensor<4x5x16x16xf32>
          %11 = tensor.empty() : tensor<4x5x16x16xf32>
          %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<4x5x16x16xf32>) outs(%11 : tensor<4x5x16x16xf32>) attrs =  {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [1, 1, 16, 16]>} {
          ^bb0(%in: f32, %out: f32):
            linalg.yield %in : f32
          } -> tensor<4x5x16x16xf32>
          %13 = tensor.empty() : tensor<72x60xf32>
          %unpack = linalg.unpack %12 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 16] into %13 {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [16, 16]>} : tensor<4x5x16x16xf32> -> tensor<72x60xf32>
          iree_codegen.store_to_buffer %unpack, %3 : tensor<72x60xf32> into memref<72x60xf32, #hal.descriptor_type<storage_buffer>>
          return
        }
        iree_codegen.dispatch_config @net_dispatch_0_matmul_60x72x100_f32 {
        ^bb0(%arg0: !hal.device):
          %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
          iree_codegen.yield %x, %y, %z : index, index, index
        }
      }
    }
  }
  hal.executable private @_encoding_1 {
    hal.executable.variant public @embedded_elf_x86_64 target(<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
      hal.executable.export public @_encoding_1_encode_60x100xf32_to_60x100xf32 ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%arg0: !hal.device) -> (index, index, index) {
        %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
        hal.return %x, %y, %z : index, index, index
      }
      builtin.module {
        func.func @_encoding_1_encode_60x100xf32_to_60x100xf32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DataTiling>>} {
          %cst = arith.constant 0.000000e+00 : f32
          %c0 = arith.constant 0 : index
          %0 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<60x100xf32, #hal.descriptor_type<storage_buffer>>
          %1 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(1) alignment(64) offset(%c0) flags(Indirect) : memref<4x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          %2 = iree_codegen.load_from_buffer %0 : memref<60x100xf32, #hal.descriptor_type<storage_buffer>> -> tensor<60x100xf32>
          %3 = tensor.empty() : tensor<4x100x16x1xf32>
          %pack = linalg.pack %2 padding_value(%cst : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %3 {lowering_config = #iree_cpu.lowering_config<distribution = [1, 25], vector_common_parallel = [1, 16]>} : tensor<60x100xf32> -> tensor<4x100x16x1xf32>
          iree_codegen.store_to_buffer %pack, %1 : tensor<4x100x16x1xf32> into memref<4x100x16x1xf32, #hal.descriptor_type<storage_buffer>>
          return
        }
        iree_codegen.dispatch_config @_encoding_1_encode_60x100xf32_to_60x100xf32 {
        ^bb0(%arg0: !hal.device):
          %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
          iree_codegen.yield %x, %y, %z : index, index, index
        }
      }
    }
  }
  hal.executable private @_encoding_2 {
    hal.executable.variant public @embedded_elf_x86_64 target(<"llvm-cpu", "embedded-elf-x86_64", {cpu = "cascadelake", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
      hal.executable.export public @_encoding_2_encode_60x72xf32_to_60x72xf32 ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) count(%arg0: !hal.device) -> (index, index, index) {
        %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
        hal.return %x, %y, %z : index, index, index
      }
      builtin.module {
        func.func @_encoding_2_encode_60x72xf32_to_60x72xf32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DataTiling>>} {
          %cst = arith.constant 0.000000e+00 : f32
          %c0 = arith.constant 0 : index
          %c25600 = arith.constant 25600 : index
          %0 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<60x72xf32, #hal.descriptor_type<storage_buffer>>
          %1 = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>) binding(1) alignment(64) offset(%c25600) flags(Indirect) : memref<4x5x16x16xf32, strided<[1280, 256, 16, 1], offset: ?>, #hal.descriptor_type<storage_buffer>>
          %2 = iree_codegen.load_from_buffer %0 : memref<60x72xf32, #hal.descriptor_type<storage_buffer>> -> tensor<60x72xf32>
          %3 = tensor.empty() : tensor<4x5x16x16xf32>
          %pack = linalg.pack %2 padding_value(%cst : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %3 {lowering_config = #iree_cpu.lowering_config<distribution = [1, 1], vector_common_parallel = [1, 16]>} : tensor<60x72xf32> -> tensor<4x5x16x16xf32>
          iree_codegen.store_to_buffer %pack, %1 : tensor<4x5x16x16xf32> into memref<4x5x16x16xf32, strided<[1280, 256, 16, 1], offset: ?>, #hal.descriptor_type<storage_buffer>>
          return
        }
        iree_codegen.dispatch_config @_encoding_2_encode_60x72xf32_to_60x72xf32 {
        ^bb0(%arg0: !hal.device):
          %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
          iree_codegen.yield %x, %y, %z : index, index, index
        }
      }
    }
  }
  util.func public @net(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @net(%input0: tensor<60x100xf32>, %input1: tensor<60x72xf32>) -> (%output0: tensor<72x60xf32>)"}} {
    %c46080 = arith.constant 46080 : index
    %c32000 = arith.constant 32000 : index
    %c60 = arith.constant 60 : index
    %c100 = arith.constant 100 : index
    %c72 = arith.constant 72 : index
    %c24000 = arith.constant 24000 : index
    %c17280 = arith.constant 17280 : index
    %c0 = arith.constant 0 : index
    %__hoisted_tensor_100x72xf32__encoded = util.global.load immutable @__hoisted_tensor_100x72xf32__encoded : !stream.resource<constant>
    %element_type_f32 = hal.element_type<f32> : i32
    %dense_row_major = hal.encoding_type<dense_row_major> : i32
    hal.buffer_view.assert<%arg0 : !hal.buffer_view> message("input0") shape([%c60, %c100]) type(%element_type_f32) encoding(%dense_row_major)
    %0 = stream.tensor.import on(#hal.device.affinity<@__device_0>) %arg0 : !hal.buffer_view -> tensor<60x100xf32> in !stream.resource<external>{%c24000}
    hal.buffer_view.assert<%arg1 : !hal.buffer_view> message("input1") shape([%c60, %c72]) type(%element_type_f32) encoding(%dense_row_major)
    %1 = stream.tensor.import on(#hal.device.affinity<@__device_0>) %arg1 : !hal.buffer_view -> tensor<60x72xf32> in !stream.resource<external>{%c17280}
    %result, %result_timepoint = stream.resource.alloca uninitialized on(#hal.device.affinity<@__device_0>) : !stream.resource<external>{%c17280} => !stream.timepoint
    %result_0, %result_timepoint_1 = stream.resource.alloca uninitialized on(#hal.device.affinity<@__device_0>) : !stream.resource<transient>{%c46080} => !stream.timepoint
    %2 = stream.timepoint.join max(%result_timepoint, %result_timepoint_1) => !stream.timepoint
    %3 = stream.cmd.execute on(#hal.device.affinity<@__device_0>) await(%2) => with(%0 as %arg2: !stream.resource<external>{%c24000}, %1 as %arg3: !stream.resource<external>{%c17280}, %__hoisted_tensor_100x72xf32__encoded as %arg4: !stream.resource<constant>{%c32000}, %result as %arg5: !stream.resource<external>{%c17280}, %result_0 as %arg6: !stream.resource<transient>{%c46080}) {
      stream.cmd.concurrent {
        stream.cmd.dispatch @_encoding_1::@embedded_elf_x86_64::@_encoding_1_encode_60x100xf32_to_60x100xf32 {
          ro %arg2[%c0 for %c24000] : !stream.resource<external>{%c24000},
          wo %arg6[%c0 for %c46080] : !stream.resource<transient>{%c46080}
        }
        stream.cmd.dispatch @_encoding_2::@embedded_elf_x86_64::@_encoding_2_encode_60x72xf32_to_60x72xf32 {
          ro %arg3[%c0 for %c17280] : !stream.resource<external>{%c17280},
          wo %arg6[%c0 for %c46080] : !stream.resource<transient>{%c46080}
        }
      }
      stream.cmd.dispatch @net_dispatch_0::@embedded_elf_x86_64::@net_dispatch_0_matmul_60x72x100_f32 {
        ro %arg6[%c0 for %c46080] : !stream.resource<transient>{%c46080},
        ro %arg4[%c0 for %c32000] : !stream.resource<constant>{%c32000},
        wo %arg5[%c0 for %c17280] : !stream.resource<external>{%c17280}
      }
    } => !stream.timepoint
    %4 = stream.resource.dealloca on(#hal.device.affinity<@__device_0>) await(%3) => %result_0 : !stream.resource<transient>{%c46080} => !stream.timepoint
    %5 = stream.timepoint.await %4 => %result : !stream.resource<external>{%c17280}
    %6 = stream.tensor.export on(#hal.device.affinity<@__device_0>) %5 : tensor<72x60xf32> in !stream.resource<external>{%c17280} -> !hal.buffer_view
    util.return %6 : !hal.buffer_view
  }
}