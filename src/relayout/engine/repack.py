"""``repack``: data in another layout, in one call."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..elements.interface import as_interface
from ..elements.memory import Memory, as_array, bytes_of, exports_array, memory_of, own_element
from ..errors import Overlap, ShapeError
from ..format.format import Format
from ..layout.layout import Layout
from ..tensors.tensor import Tensor
from .cpu.flat import as_tensor, check_memory, fill_range, flat_memory, for_library_of
from .cpu.program import buffer_dtype
from .plan import Plan
from .recipe import RAW, Recipe, packed_element, recipe_of
from .ways import EncodedWay, Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..dialects.registry import Shapeless


def repack(
    x: Any,
    dst: Layout | Format | Shapeless | str,
    *,
    src: Layout | Format | Shapeless | str | None = None,
    shape: Any = None,
    axes: str | None = None,
    out: Any = None,
    fill: Any = None,
    element: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """The data of ``x``, a tensor or an array, in the layout ``dst``: a layout, a format, a text in any dialect, or an
    einops pattern with sizes, ``h (w q) -> w h q, q=8``.

    ``src`` says how a flat buffer is laid out, with ``shape`` where that is a format; ``axes`` names the dimensions of
    the data, and a format with names is aligned to them. ``element`` is the type or interface of the result. Fresh
    memory holds ``fill`` beside the data, by default that of the format, else 0; of ``out``, flat memory, only elements
    are written, unless ``fill`` is given. A tensor of the layout ``dst`` may be ``out`` as well: it gets the values, as
    it stores them. ``threads`` and ``progress`` are those of a plan. An array on a CUDA device is repacked there, and
    one of Dask lazily, to an array of the stored shape whose chunks are whole blocks.

    A tensor gives a tensor. An array gives one of its library: of the stored shape for a format, one axis per factor;
    with the strides of a plain layout; else flat. Where ``src`` is made for elements narrower than a byte, an array is
    the words they are packed in, and so is the result. Bytes of one record become bytes of another.
    """
    import numpy as np

    if src is not None and not isinstance(src, Layout):
        from ..dialects.read import as_record

        if (record := as_record(src)) is not None:
            from .record_pairs import repack_records

            return repack_records(x, record, dst, shape, element, out)
    given = x
    if x.__class__ is not np.ndarray and not isinstance(x, Tensor | RAW if src is not None else Tensor):
        from .dask_arrays import is_dask_array, repack_dask
        from .gpu.device import on_device

        if is_dask_array(x):
            if out is not None or progress is not None or threads is not None:
                hint = "leave them out: Dask decides when and where its chunks are made"
                raise ShapeError("an array of Dask is repacked lazily, without out, threads or progress.", hint=hint)
            return repack_dask(x, dst, src=src, shape=shape, axes=axes, fill=fill, element=element)
        if on_device(x):
            from .gpu.launch import repack_on_device

            return repack_on_device(x, dst, src, shape, axes, out, fill, element, progress)
        x = as_array(x) if src is None or exports_array(x) else bytes_of(x).data
    words = None
    if src is not None and x.__class__ is np.ndarray and (packed := packed_element(src, own_element(x))) is not None:
        words, x, element = x.dtype, bytes_of(x).data, packed if element is None else element
    if isinstance(out, Tensor):
        return _repack_into_tensor(x, dst, src, shape, axes, out, fill, element, threads, progress)
    recipe = recipe_of(x, dst, src, shape, axes, out is None, fill, element, threads)
    if recipe.make_array is not None and progress is None and given is x:
        made = recipe.make_array(x)
        if made is not None:
            return made
    memory = recipe.memory(x)
    if out is None:
        if recipe.warning is not None:
            warnings.warn(recipe.warning, stacklevel=2)
        target = recipe.allocate()
        run = recipe.filling or recipe.plan
    elif recipe.fill is None and out.__class__ is np.ndarray and out.ndim == 1 and out.dtype == recipe.dtype:
        target, run = out, recipe.plan
    else:
        held = memory_of(out, recipe.interface.element)
        target = held.bytes if held.typed is None else held.typed
        run = _plan_into(recipe, memory, held, target)
    if progress is None:
        run(memory, target)
    else:
        run(memory, target, progress=progress)
    if isinstance(x, Tensor):
        return recipe.tensor(target, out is None)
    array = recipe.array(target)
    if words is not None and array.nbytes % words.itemsize == 0:
        array = target = array.reshape(-1).view(words)
    return array if given is x else for_library_of(given, array, target)


def _repack_into_tensor(
    x: Any,
    dst: Any,
    src: Any,
    shape: Any,
    axes: Any,
    out: Tensor,
    fill: Any,
    element: Any,
    threads: Any,
    progress: Progress | None,
) -> Any:
    """The repack to a tensor, which is returned; nothing beside its elements is written."""
    if fill is not None:
        raise ShapeError("out is a tensor: its padding is its own.", hint="out.fill_padding(auto=...)", tensor=out)
    if element is not None and as_interface(element) != out.interface:
        raise ShapeError(f"out holds {out.interface}, not {element}.", hint="leave element away", tensor=out)
    recipe = recipe_of(x, dst, src, shape, axes, False, None, out.interface, threads)
    return recipe.plan(recipe.memory(x), out, progress=progress)


def _plan_into(recipe: Recipe, memory: Any, held: Memory, target: NDArray[Any]) -> Plan:
    """The plan that writes to memory which was given, filled before where the plan does not."""
    import numpy as np

    if recipe.fill is None:
        return recipe.plan
    if recipe.filling is not None and held.count == recipe.capacity:
        return recipe.filling
    element = recipe.interface.element
    if isinstance(memory, Tensor):
        sources = [m.bytes for m in memory._memories]
    else:
        sources = [flat_memory(memory, recipe.plan.source, recipe.plan.element.element, "data")]
        check_memory(recipe.plan, sources[0], target)
    if any(np.may_share_memory(source, target) for source in sources):
        raise Overlap("the data and out share memory.", hint="copy one of them first, or leave out= away")
    if not held.writable:
        raise ShapeError("the memory is read-only.", hint="pass a writable array")
    if isinstance(recipe.plan.way, EncodedWay):
        # A value may be refused, and then nothing is written.
        interface = recipe.plan.element
        data = memory if isinstance(memory, Tensor) else as_tensor(sources[0], recipe.plan.source, interface)
        recipe.interface.encode(data.numpy())
    fill_range(target.view(buffer_dtype(element)), (0, held.count), element, recipe.fill)
    return recipe.plan
