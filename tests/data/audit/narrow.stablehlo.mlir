module @jit_narrow attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x6xf32>) -> (tensor<16x6x4xi8> {jax.result_info = "result[0]"}, tensor<6x16xi4> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<16x6xf32>) -> tensor<16x6x4xi8>
    %1 = stablehlo.convert %arg0 : (tensor<16x6xf32>) -> tensor<16x6xi4>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<16x6xi4>) -> tensor<6x16xi4>
    return %0, %2 : tensor<16x6x4xi8>, tensor<6x16xi4>
  }
}
