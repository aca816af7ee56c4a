# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 8, 32), dtype="float32"), w: R.Tensor((64, 32, 3, 3), dtype="float32"), t: R.Tensor((n, 4, 6), dtype="float16")) -> R.Tensor((2048, 1), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a: R.Tensor((1, 32, 8, 8), dtype="float32") = R.permute_dims(x, axes=[0, 3, 1, 2])
            b: R.Tensor((1, 2, 8, 8, 16), dtype="float32") = R.layout_transform(a, index_map=T.index_map(lambda n_1, c, h, w_1: (n_1, c // 16, h, w_1, c % 16)), pad_value=None)
            c: R.Tensor((1, 2, 8, 8, 16), dtype="float32") = R.nn.relu(b)
            d: R.Tensor((1, 32, 8, 8), dtype="float32") = R.layout_transform(c, index_map=T.index_map(lambda n_1, co, h, w_1, ci: (n_1, co * 16 + ci, h, w_1)), pad_value=None)
            k: R.Tensor((4, 2, 3, 3, 16, 16), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda o, i, h, w_1: (o // 16, i // 16, h, w_1, i % 16, o % 16)), pad_value=None)
            p: R.Tensor((n, 6, 4), dtype="float16") = R.permute_dims(t, axes=[0, 2, 1])
            q: R.Tensor((1, 2048), dtype="float32") = R.reshape(d, R.shape([1, 2048]))
            u: R.Tensor((2048, 1), dtype="float32") = R.permute_dims(q, axes=None)
            R.output(k, p, u)
        return u
