"""relayout: one exact model of tensor memory layouts, whoever's notation they come in."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__
from .missing import watch_imports as _watch_imports

if TYPE_CHECKING:
    from . import candle as candle
    from . import catalog as catalog
    from . import coreai as coreai
    from . import hardware as hardware
    from . import htp as htp
    from . import mojo as mojo
    from .algebra.building import (
        append,
        dice,
        domain_offset,
        flatten,
        group,
        make_identity_layout,
        make_layout,
        make_layout_like,
        make_ordered_layout,
        prepend,
        replace,
        select,
        slice_layout,
        with_shape,
        zip_modes,
    )
    from .algebra.coalescing import coalesce, filter, filter_zeros, nullspace
    from .algebra.composed import ComposedLayout
    from .algebra.composition import composition
    from .algebra.inverses import complement, left_inverse, max_common_layout, max_common_vector, right_inverse
    from .algebra.linear import LinearLayout
    from .algebra.recast import downcast, recast_layout, upcast
    from .algebra.tiling import (
        blocked_product,
        flat_divide,
        flat_product,
        logical_divide,
        logical_product,
        make_layout_tv,
        raked_product,
        tile_to_shape,
        tiled_divide,
        tiled_product,
        zipped_divide,
        zipped_product,
    )
    from .ask.advice import Advice, advise
    from .ask.banks import Banks, banks
    from .ask.comparing import compare
    from .ask.every_shape import FormatComparison
    from .ask.explain import explain
    from .ask.guards import check, expects
    from .ask.infer import infer
    from .ask.inference.result import Inference
    from .ask.probes import probes
    from .ask.record_comparison import RecordComparison
    from .ask.rosetta import rosetta
    from .ask.sectors import Sectors, sectors
    from .auditing.audit import Audit, audit
    from .codegen.code import code
    from .dialects.render import render
    from .dialects.resolve import Resolved, parse, resolve
    from .drawing.draw import draw
    from .drawing.text import format_layout, print_layout
    from .elements.encoding import Encoding
    from .elements.interface import Plain, ScaleOffset
    from .engine.logical import from_logical
    from .engine.plan import Plan, plan
    from .engine.repack import repack
    from .errors import (
        AmbiguousAxes,
        BadFile,
        Cancelled,
        ClusterError,
        DeviceError,
        LayoutError,
        LayoutMismatch,
        LimitExceeded,
        MissingPackage,
        NotExpressible,
        OutOfBounds,
        Overlap,
        ParseError,
        ShapeError,
        Undetermined,
        UnknownName,
        WindowError,
    )
    from .files.jobs.repack_file import repack_file
    from .files.jobs.reshard import reshard
    from .files.jobs.verify import verify
    from .files.registry import open
    from .format.format import Format
    from .format.record import Record
    from .hardware.atoms import atoms
    from .hardware.tiled_mma import tile_mma
    from .integers.inttuple import (
        IntTuple,
        compact_order,
        compatible,
        congruent,
        crd2crd,
        crd2idx,
        idx2crd,
        inner_product,
        prefix_product,
        product,
        product_each,
        shape_div,
        weakly_compatible,
        weakly_congruent,
    )
    from .layout.basis import E
    from .layout.comparison import Comparison
    from .layout.layout import Layout
    from .layout.measures import cosize, depth, rank, size
    from .layout.strided_blocks import MultipleBlocks, SingleBlock, UniformBlocks
    from .layout.swizzle import Swizzle
    from .native import native_available
    from .sharding.sharding import Sharding
    from .tensors.block_table import BlockTable
    from .tensors.make import empty, full, tensor
    from .tensors.tensor import Tensor

_watch_imports()

_HOMES = {
    ".algebra.building": (
        "append dice domain_offset flatten group make_identity_layout make_layout make_layout_like "
        "make_ordered_layout prepend replace select slice_layout with_shape zip_modes"
    ),
    ".algebra.coalescing": "coalesce filter filter_zeros nullspace",
    ".algebra.composed": "ComposedLayout",
    ".algebra.composition": "composition",
    ".algebra.inverses": "complement left_inverse max_common_layout max_common_vector right_inverse",
    ".algebra.linear": "LinearLayout",
    ".algebra.recast": "downcast recast_layout upcast",
    ".algebra.tiling": (
        "blocked_product flat_divide flat_product logical_divide logical_product make_layout_tv raked_product "
        "tile_to_shape tiled_divide tiled_product zipped_divide zipped_product"
    ),
    ".ask.advice": "Advice advise",
    ".ask.banks": "Banks banks",
    ".ask.comparing": "compare",
    ".ask.every_shape": "FormatComparison",
    ".ask.explain": "explain",
    ".ask.guards": "check expects",
    ".ask.infer": "infer",
    ".ask.inference.result": "Inference",
    ".ask.probes": "probes",
    ".ask.record_comparison": "RecordComparison",
    ".ask.rosetta": "rosetta",
    ".ask.sectors": "Sectors sectors",
    ".auditing.audit": "Audit audit",
    ".codegen.code": "code",
    ".dialects.render": "render",
    ".dialects.resolve": "Resolved parse resolve",
    ".drawing.draw": "draw",
    ".drawing.text": "format_layout print_layout",
    ".elements.encoding": "Encoding",
    ".elements.interface": "Plain ScaleOffset",
    ".engine.logical": "from_logical",
    ".engine.plan": "Plan plan",
    ".engine.repack": "repack",
    ".errors": (
        "AmbiguousAxes BadFile Cancelled ClusterError DeviceError LayoutError LayoutMismatch LimitExceeded "
        "MissingPackage NotExpressible OutOfBounds Overlap ParseError ShapeError Undetermined UnknownName "
        "WindowError"
    ),
    ".files.jobs.repack_file": "repack_file",
    ".files.jobs.reshard": "reshard",
    ".files.jobs.verify": "verify",
    ".files.registry": "open",
    ".format.format": "Format",
    ".format.record": "Record",
    ".hardware.atoms": "atoms",
    ".hardware.tiled_mma": "tile_mma",
    ".integers.inttuple": (
        "IntTuple compact_order compatible congruent crd2crd crd2idx idx2crd inner_product prefix_product product "
        "product_each shape_div weakly_compatible weakly_congruent"
    ),
    ".layout.basis": "E",
    ".layout.comparison": "Comparison",
    ".layout.layout": "Layout",
    ".layout.measures": "cosize depth rank size",
    ".layout.strided_blocks": "MultipleBlocks SingleBlock UniformBlocks",
    ".layout.swizzle": "Swizzle",
    ".native": "native_available",
    ".sharding.sharding": "Sharding",
    ".tensors.block_table": "BlockTable",
    ".tensors.make": "empty full tensor",
    ".tensors.tensor": "Tensor",
}
"""The names of the front door by the modules that they come from, which are imported when one is first asked for."""

_LAZY = {name: home for home, names in _HOMES.items() for name in names.split()}

_VOCABULARIES = ("candle", "catalog", "coreai", "hardware", "htp", "mojo")
"""Modules with the words of one document each, or of machines, imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in _VOCABULARIES:
        return import_module(f".{name}", __name__)
    if name not in _LAZY:
        modules = [] if name.startswith("_") else [import_module(f".{v}", __name__) for v in _VOCABULARIES]
        homes = [module.__name__ for module in modules if name in module.__all__]
        where = f"; it is a word of {' and '.join(homes)}" if homes else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{where}")
    value = getattr(import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LAZY, *_VOCABULARIES})


__all__ = [
    "Format",
    "Layout",
    "Record",
    "Sharding",
    "Tensor",
    "advise",
    "atoms",
    "audit",
    "banks",
    "catalog",
    "check",
    "code",
    "compare",
    "coreai",
    "draw",
    "empty",
    "expects",
    "explain",
    "format_layout",
    "from_logical",
    "full",
    "hardware",
    "infer",
    "native_available",
    "open",
    "parse",
    "plan",
    "print_layout",
    "probes",
    "render",
    "repack",
    "repack_file",
    "reshard",
    "resolve",
    "rosetta",
    "sectors",
    "tensor",
    "tile_mma",
    "verify",
]
"""The front door: what a layout is, what it is called, how two differ, and data moved from one to another."""

__all__ += [
    "Advice",
    "Audit",
    "Banks",
    "BlockTable",
    "Comparison",
    "Encoding",
    "FormatComparison",
    "Inference",
    "MultipleBlocks",
    "Plain",
    "Plan",
    "RecordComparison",
    "Resolved",
    "ScaleOffset",
    "Sectors",
    "SingleBlock",
    "UniformBlocks",
]
"""Values: what the front door takes, and what it answers with."""

__all__ += [
    "AmbiguousAxes",
    "BadFile",
    "Cancelled",
    "ClusterError",
    "DeviceError",
    "LayoutError",
    "LayoutMismatch",
    "LimitExceeded",
    "MissingPackage",
    "NotExpressible",
    "OutOfBounds",
    "Overlap",
    "ParseError",
    "ShapeError",
    "Undetermined",
    "UnknownName",
    "WindowError",
]
"""Errors: one class for each mistake, all of them a ``LayoutError``."""

__all__ += [
    "ComposedLayout",
    "E",
    "LinearLayout",
    "Swizzle",
    "append",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "depth",
    "dice",
    "domain_offset",
    "downcast",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "group",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "prepend",
    "raked_product",
    "rank",
    "recast_layout",
    "replace",
    "right_inverse",
    "select",
    "size",
    "slice_layout",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "with_shape",
    "zip_modes",
    "zipped_divide",
    "zipped_product",
]
"""Algebra: functions on layouts, with CuTe's names and meaning."""

__all__ += [
    "IntTuple",
    "compact_order",
    "compatible",
    "congruent",
    "crd2crd",
    "crd2idx",
    "flatten",
    "idx2crd",
    "inner_product",
    "prefix_product",
    "product",
    "product_each",
    "shape_div",
    "weakly_compatible",
    "weakly_congruent",
]
"""Integer tuples: nested shapes, strides and coordinates, with CuTe's and Mojo's names."""

__all__.remove("filter")
__all__.remove("open")
# A star import brings none of Python's own names along; relayout.filter and relayout.open are there by their full name.
