module @jit_there_and_back attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x6x4xf32>) -> (tensor<2x8x6x4xf32> {jax.result_info = "result[0]"}, tensor<48x8xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<2x8x6x4xf32>) -> tensor<2x6x4x8xf32>
    %1 = call @cumsum(%0) : (tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32>
    %2 = stablehlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<2x6x4x8xf32>) -> tensor<2x8x6x4xf32>
    %3 = stablehlo.sine %2 : tensor<2x8x6x4xf32>
    %4 = stablehlo.transpose %3, dims = [0, 2, 3, 1] : (tensor<2x8x6x4xf32>) -> tensor<2x6x4x8xf32>
    %5 = stablehlo.transpose %4, dims = [0, 3, 1, 2] : (tensor<2x6x4x8xf32>) -> tensor<2x8x6x4xf32>
    %6 = call @sort(%5) : (tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
    %7 = stablehlo.reshape %arg0 : (tensor<2x8x6x4xf32>) -> tensor<384xf32>
    %8 = stablehlo.reshape %7 : (tensor<384xf32>) -> tensor<8x48xf32>
    %9 = stablehlo.transpose %8, dims = [1, 0] : (tensor<8x48xf32>) -> tensor<48x8xf32>
    return %6, %9 : tensor<2x8x6x4xf32>, tensor<48x8xf32>
  }
  func.func private @cumsum(%arg0: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32>
    return %0 : tensor<2x6x4x8xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [5, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 6, 1, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2x6x4x8xf32>, tensor<f32>) -> tensor<2x6x4x8xf32>
    return %1 : tensor<2x6x4x8xf32>
  }
  func.func private @sort(%arg0: tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
    return %0 : tensor<2x8x6x4xf32>
  }
}
