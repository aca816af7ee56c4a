#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4)>
module {
  func.func @net(%arg0: tensor<60x100xf32>, %arg1: tensor<60x72xf32>) -> tensor<72x60xf32> {
    %cst = arith.constant dense<5.000000e-01> : tensor<100x72xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x2x32x64xf32>
    %pack = linalg.pack %arg0 padding_value(%cst_0 : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [32, 64] into %0 : tensor<60x100xf32> -> tensor<2x2x32x64xf32>
    %1 = tensor.empty() : tensor<5x2x16x64xf32>
    %pack_1 = linalg.pack %cst padding_value(%cst_0 : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 64] into %1 : tensor<100x72xf32> -> tensor<5x2x16x64xf32>
    %2 = tensor.empty() : tensor<2x5x32x16xf32>
    %pack_2 = linalg.pack %arg1 padding_value(%cst_0 : f32) inner_dims_pos = [0, 1] inner_tiles = [32, 16] into %2 : tensor<60x72xf32> -> tensor<2x5x32x16xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]} ins(%pack, %pack_1 : tensor<2x2x32x64xf32>, tensor<5x2x16x64xf32>) outs(%pack_2 : tensor<2x5x32x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %5 = arith.mulf %in, %in_3 : f32
      %6 = arith.addf %out, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<2x5x32x16xf32>
    %unpack = linalg.unpack %3 inner_dims_pos = [0, 1] inner_tiles = [32, 16] into %arg1 : tensor<2x5x32x16xf32> -> tensor<60x72xf32>
    %4 = tensor.empty() : tensor<72x60xf32>
    %transposed = linalg.transpose ins(%unpack : tensor<60x72xf32>) outs(%4 : tensor<72x60xf32>) permutation = [1, 0] 
    return %transposed : tensor<72x60xf32>
  }
}

