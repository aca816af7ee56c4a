#map = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @turn(%arg0: tensor<?x100xf16>, %arg1: tensor<8x4x16xf32>, %arg2: index) -> (tensor<100x?xf16>, tensor<4x8x16xf32>) {
    %0 = tensor.empty(%arg2) : tensor<100x?xf16>
    %transposed = linalg.transpose ins(%arg0 : tensor<?x100xf16>) outs(%0 : tensor<100x?xf16>) permutation = [1, 0] 
    %1 = tensor.empty() : tensor<4x8x16xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<8x4x16xf32>) outs(%1 : tensor<4x8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x8x16xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<4x8x16xf32>) outs(%1 : tensor<4x8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = arith.addf %in, %in : f32
      linalg.yield %4 : f32
    } -> tensor<4x8x16xf32>
    return %transposed, %3 : tensor<100x?xf16>, tensor<4x8x16xf32>
  }
  func.func @packs(%arg0: tensor<30x50xf32>, %arg1: tensor<?x?xf32>, %arg2: index, %arg3: index, %arg4: f32) -> tensor<30x50xf32> {
    %0 = tensor.empty() : tensor<7x4x8x8xf32>
    %pack = linalg.pack %arg0 padding_value(%arg4 : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %0 : tensor<30x50xf32> -> tensor<7x4x8x8xf32>
    %1 = tensor.empty() : tensor<30x50xf32>
    %unpack = linalg.unpack %pack outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %1 : tensor<7x4x8x8xf32> -> tensor<30x50xf32>
    %2 = tensor.empty(%arg2, %arg3) : tensor<?x?x16x1xf32>
    %pack_0 = linalg.pack %arg1 padding_value(%arg4 : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %2 : tensor<?x?xf32> -> tensor<?x?x16x1xf32>
    %expanded = tensor.expand_shape %arg0 [[0, 1], [2]] output_shape [3, 10, 50] : tensor<30x50xf32> into tensor<3x10x50xf32>
    return %unpack : tensor<30x50xf32>
  }
  func.func @copies(%arg0: memref<6x8xf32>, %arg1: memref<6x8xf32, strided<[1, 6]>>, %arg2: memref<6x8xf32, strided<[?, 1], offset: ?>>, %arg3: memref<6x8xf32, strided<[8, 1], offset: ?>>, %arg4: memref<6x8xf32, 1>) {
    memref.copy %arg0, %arg1 : memref<6x8xf32> to memref<6x8xf32, strided<[1, 6]>>
    memref.copy %arg0, %arg2 : memref<6x8xf32> to memref<6x8xf32, strided<[?, 1], offset: ?>>
    memref.copy %arg0, %arg3 : memref<6x8xf32> to memref<6x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %arg0, %arg4 : memref<6x8xf32> to memref<6x8xf32, 1>
    return
  }
}

