"""The named formats of the world: one table, each with its axes, its blocks and where it comes from.

A name is ``system:Name`` in the vendor's own spelling. Most names are a ``Format``. A tile that exists at one size only
is a ``Layout``. What depends on the width of the elements is chosen with ``element_bits``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from .errors import LimitExceeded, ShapeError, shown
from .format import Format
from .inttuple import as_int
from .layout import Layout, as_layout
from .nested import product
from .recast import upcast

# A line at the margin: the system, then where the names below it come from. Indented lines: the name, its axes, the
# width of its elements in bits (- for any, 8|16 where the width decides) and its text: a format as `Format.parse` reads
# it, or a tile in CuTe's notation. `64B` counts bytes, and a tile with several widths is written in bits. `=` makes
# another name, for each width one where the width decides; `>` is a note on the name above it.
_TABLE = """
htp Qualcomm HTP Core documentation, "Tensors and Memory Layout"
  R4Flat            nhwc   -  0 1 2 3
  R5Flat            ndhwc  -  0 1 2 3 4
  R6Flat            abcdef -  0 1 2 3 4 5
  R4Singular        nhwc   8  (1,1,1,1):(0,0,0,0)
    > One element: every dimension has size 1.
  R4NCHW            nhwc   -  0 3 2 1
    > The vendor's class, whose fastest dimension is height: N, C, W, H. The true order is htp:NCHW.
  NCHW              nhwc   -  0 3 1 2
    > NHWC coordinates stored as N, C, H, W, as the page's text gives it; the class R4NCHW of its table is another.
  R4Depth32         nhwc   8  0 1 3 2 / 2,4 3,32
  R4Crouton         nhwc   8  0 1 2 3 / 1,8 2,8 3,32 fill 31 indirect 4
    > Automatic padding is 31, not 0; ask for another fill where the value that decodes to 0 is meant.
  R4WideCrouton     nhwc   8  0 1 2 3 / 1,2 2,32 3,32 fill 31 indirect 4
  R4Crouton4x1      nhwc   8  0 1 2 3 / 1,8 2,2 3,32 2,4 fill 31 indirect 4
    > The page's listing SpatialXMajor has 1,4 under the comment "8 high": a slip, its table has 1,8.
  R4Crouton2x2      nhwc   8  0 1 2 3 / 1,4 2,4 3,32 1,2 2,2 fill 31 indirect 4
  R4WideCrouton2x2  nhwc   8  0 1 2 3 / 2,16 3,32 1,2 2,2 fill 31 indirect 4
  R4Crouton2        nhwc   16 0 1 2 3 / 1,8 2,2 3,32 2,2 fill 31 indirect 4
  R4Crouton4        nhwc   32 0 1 2 3 / 1,8 2,2 3,32 fill 31 indirect 4
  R4WideCrouton4    nhwc   32 0 1 2 3 / 1,2 2,8 3,32 fill 31 indirect 4
  R4Weights8x4      hwio   16 0 1 3 2 / 0,8 1,4 2,16 3,32 2,2
  R5Crouton         ndhwc  8  0 1 2 3 4 / 2,8 3,8 4,32 fill 31 indirect 5
  R4DeepAR4_16b     nhwc   16 0 1 2 3 / 2,2 3,32 2,2 fill 31 indirect 3
    > The table picks 4 columns of the whole padded depth: only three dimensions are indirect.
  R4DeepAR8_16b     nhwc   16 0 1 2 3 / 2,4 3,32 2,2 fill 31 indirect 3
    > The table picks 8 columns of the whole padded depth: only three dimensions are indirect.
  weights           hwio   8  3 2 0 1 / 2,8 3,32 2,4
    > The page's layout for convolution weights. The output channels are the slowest.
  Crouton             = 8:R4Crouton 16:R4Crouton2 32:R4Crouton4
  ChannelMajorCrouton = R4Crouton
  SpatialXYMajor      = R4Crouton2x2
  SpatialXMajor       = R4Crouton4x1

hmx Qualcomm HMX weight tiles: htp-ops-lib (fp16); HTP Core documentation, convolution weights (int8)
  fp16              kn     16 ((2,16),32):((1,64),2)
    > One 32x32 tile of weights, rows in pairs. The order of the tiles is up to the program.
  int8_weights      kn     8  ((4,8),32):((1,128),4)
    > One 32x32 tile of weights, rows in fours. The order of the tiles is up to the program.

tensorrt NVIDIA TensorRT 10, NvInferRuntimeBase.h, enum TensorFormat
  kLINEAR           nchw   -  0 1 2 3
  kCHW2             nchw   16 0 1 2 3 / 1,2 fill 0
  kCHW4             nchw   -  0 1 2 3 / 1,4 fill 0
  kCHW16            nchw   -  0 1 2 3 / 1,16 fill 0
  kCHW32            nchw   -  0 1 2 3 / 1,32 fill 0
  kHWC              nchw   -  0 2 3 1
  kHWC8             nchw   16 0 2 3 1 / 1,8 fill 0
  kHWC16            nchw   -  0 2 3 1 / 1,16 fill 0
  kDHWC             ncdhw  32 0 2 3 4 1
  kDHWC8            ncdhw  16 0 2 3 4 1 / 1,8 fill 0
  kCDHW32           ncdhw  -  0 1 2 3 4 / 1,32 fill 0
  kDLA_LINEAR       nchw   8|16 0 1 2 3 / 3,64B
  kDLA_HWC4         nchw   8|16 0 2 3 1 / 3,16B 1,4
    > For 3 or 4 channels, rows of 64 bytes as on Orin. One channel is stored as kDLA_LINEAR; Xavier rounds to 32 bytes.

cudnn NVIDIA cuDNN 9 developer guide, core concepts; enum cudnnTensorFormat_t
  NCHW              nchw   -  0 1 2 3
  NHWC              nchw   -  0 2 3 1
  NCDHW             ncdhw  -  0 1 2 3 4
  NDHWC             ncdhw  -  0 2 3 4 1
  NC/4HW4           nchw   8  0 1 2 3 / 1,4
    > CUDNN_TENSOR_NCHW_VECT_C of CUDNN_DATA_INT8x4: the channels are a multiple of 4.
  NC/32HW32         nchw   8  0 1 2 3 / 1,32
    > CUDNN_TENSOR_NCHW_VECT_C of CUDNN_DATA_INT8x32: the channels are a multiple of 32.
  NCHW_VECT_C_INT8x4  = NC/4HW4
  NCHW_VECT_C_INT8x32 = NC/32HW32

cudnn NVIDIA cuDNN 9.19, the result of cudnnReorderFilterAndBias
  REORDERING_INT8x32  oihw 8  1 2 3 0 / 0,2@1 1,8 0,4@2 1,4
    > Measured, not documented: for a multiple of 8 output and 32 input channels. The tile is cublaslt:COL4_4R2_8C.

cudnn NVIDIA cuDNN 9.7, CUDNN_TENSOR_REORDERING_F8_128x4; CUTLASS 4.2, sm100_blockscaled_layout.hpp
  REORDERING_F8_128x4 mk   8  0 1 / 0,32@1 0,4@32 1,4
    > Block-scale factors: k counts blocks of 16 or 32 elements.

cublaslt NVIDIA cuBLAS 13, cublasLt.h, enum cublasLtOrder_t
  COL               mn     -  1 0
  ROW               mn     -  0 1
  COL32             mn     -  1 0 / 1,32 fill 0
  COL4_4R2_8C       mn     -  1 0 / 0,2@1 1,8 0,4@2 1,4 fill 0
    > Rows of one parity lie together, four by four columns: quads of an 8x32 tile.
  COL32_2R_4R4      mn     -  1 0 / 0,4@2 0,4@8 0,2@1 1,32 fill 0
    > Inside a 32x32 tile element (row, col) is at (((row%8)/2*4+row/8)*2+row%2)*32+col.

cublaslt NVIDIA cuBLAS 13 guide, 1D block scaling factors layout; CUTLASS 4.2, sm100_blockscaled_layout.hpp
  VEC32_UE8M0       mk     8  0 1 / 0,32@1 0,4@32 1,4
    > Scale factors of MXFP8: k counts blocks of 32 elements. A 128x4 tile has 512 bytes, tiles go along k first.
  VEC16_UE4M3       mk     8  0 1 / 0,32@1 0,4@32 1,4
    > Scale factors of NVFP4: k counts blocks of 16 elements. A 128x4 tile has 512 bytes, tiles go along k first.
  mxfp8:scales      = VEC32_UE8M0
  nvfp4:scales      = VEC16_UE4M3

smem NVIDIA CUTLASS 4.2, cute/atom/mma_traits_sm90_gmma.hpp: tiles of wgmma (Hopper) and tcgen05 (Blackwell)
  K_INTER           mk     4|8|16|32|64 (8,128):(128,1)
  K_SW32            mk     4|8|16|32|64 Sw<1,7,3> o 0 o (8,256):(256,1)
  K_SW64            mk     4|8|16|32|64 Sw<2,7,3> o 0 o (8,512):(512,1)
  K_SW128           mk     4|8|16|32|64 Sw<3,7,3> o 0 o (8,1024):(1024,1)
    > Eight rows of 128 bytes whose 16-byte pieces are exchanged; the tile starts at a multiple of 1024 bytes.
  MN_INTER          mk     4|8|16|32|64 (128,8):(1,128)
  MN_SW32           mk     4|8|16|32|64 Sw<1,7,3> o 0 o (256,8):(1,256)
  MN_SW64           mk     4|8|16|32|64 Sw<2,7,3> o 0 o (512,8):(1,512)
  MN_SW128          mk     4|8|16|32|64 Sw<3,7,3> o 0 o (1024,8):(1,1024)
    > The tile starts at a multiple of 1024 bytes.

smem NVIDIA CUTLASS 4.2, cute/atom/mma_traits_sm100.hpp: tcgen05 (Blackwell)
  MN_SW128_32B      mk     4|8|16|32|64 Sw<2,8,2> o 0 o (1024,4):(1,1024)

hipblaslt AMD hipBLASLt 1.0, hipblaslt.h, enum hipblasLtOrder_t
  COL               mn     -  1 0
  ROW               mn     -  0 1
  COL16_4R16        mn     8  1 0 / 0,4 1,16 0,16
  COL16_4R8         mn     16 1 0 / 0,4 1,16 0,8

onnxruntime ONNX Runtime 1, onnxruntime/core/mlas/lib/reorder.cpp
  NCHWc8            nchw   32 0 1 2 3 / 1,8 fill 0
  NCHWc16           nchw   32 0 1 2 3 / 1,16 fill 0
  OIHWBiBo8         oihw   32 0 1 2 3 / 1,8 0,8 fill 0
  OIHWBiBo16        oihw   32 0 1 2 3 / 1,16 0,16 fill 0
  OIHWBo8           oihw   32 0 1 2 3 / 0,8 fill 0
  OIHWBo16          oihw   32 0 1 2 3 / 0,16 fill 0

openvino Intel OpenVINO, GPU plugin memory formats, intel_gpu/src/runtime/format.cpp
  bfyx              nchw   -  0 1 2 3
  byxf              nchw   -  0 2 3 1
  b_fs_yx_fsv4      nchw   -  0 1 2 3 / 1,4
  b_fs_yx_fsv16     nchw   -  0 1 2 3 / 1,16
  b_fs_yx_fsv32     nchw   -  0 1 2 3 / 1,32
  fs_b_yx_fsv32     nchw   -  1 0 2 3 / 1,32
  bs_fs_yx_bsv16_fsv16 nchw - 0 1 2 3 / 0,16 1,16
  bs_fs_yx_bsv16_fsv32 nchw - 0 1 2 3 / 0,16 1,32

torch PyTorch 2 documentation, torch.memory_format
  contiguous_format nchw   -  0 1 2 3
  channels_last     nchw   -  0 2 3 1
    > Where a size is 1 the strides fit contiguous_format as well, and torch calls the tensor both.
  channels_last_3d  ncdhw  -  0 2 3 4 1

ethosu Arm Ethos-U Vela 4, the strides of feature maps by TensorFormat
  NHWC              nhwc   -  0 1 2 3
  NHCWB16           nhwc   -  0 1 3 2 / 3,16

acl Arm Compute Library, arm_compute/core/CoreTypes.h, enum WeightFormat
  OHWI              ohwi   -  0 1 2 3
  OHWIo2            ohwi   -  0 1 2 3 / 0,2
  OHWIo4            ohwi   -  0 1 2 3 / 0,4
  OHWIo8            ohwi   -  0 1 2 3 / 0,8
  OHWIo16           ohwi   -  0 1 2 3 / 0,16
  OHWIo32           ohwi   -  0 1 2 3 / 0,32
  OHWIo64           ohwi   -  0 1 2 3 / 0,64
  OHWIo128          ohwi   -  0 1 2 3 / 0,128
  OHWIo4i2          ohwi   -  0 1 2 3 / 0,4 3,2
  OHWIo8i2          ohwi   -  0 1 2 3 / 0,8 3,2
  OHWIo16i2         ohwi   -  0 1 2 3 / 0,16 3,2
  OHWIo32i2         ohwi   -  0 1 2 3 / 0,32 3,2
  OHWIo64i2         ohwi   -  0 1 2 3 / 0,64 3,2
  OHWIo4i4          ohwi   -  0 1 2 3 / 0,4 3,4
  OHWIo8i4          ohwi   -  0 1 2 3 / 0,8 3,4
  OHWIo16i4         ohwi   -  0 1 2 3 / 0,16 3,4
  OHWIo32i4         ohwi   -  0 1 2 3 / 0,32 3,4
  OHWIo64i4         ohwi   -  0 1 2 3 / 0,64 3,4
  OHWIo2i8          ohwi   -  0 1 2 3 / 0,2 3,8
  OHWIo4i8          ohwi   -  0 1 2 3 / 0,4 3,8
  OHWIo8i8          ohwi   -  0 1 2 3 / 0,8 3,8
  OHWIo16i8         ohwi   -  0 1 2 3 / 0,16 3,8
  OHWIo32i8         ohwi   -  0 1 2 3 / 0,32 3,8
  OHWIo64i8         ohwi   -  0 1 2 3 / 0,64 3,8

amx Intel 64 and IA-32 SDM, volume 2, the second source tile of TDPBF16PS and TDPBSSD
  TDPBF16PS_tsrc2   kn     16 ((2,16),16):((1,32),2)
    > A full tile of 32x16 elements, rows in pairs ("VNNI").
  TDPBSSD_tsrc2     kn     8  ((4,16),16):((1,64),4)
    > A full tile of 64x16 elements, rows in fours ("VNNI").

ascend Huawei CANN 8, data layout formats; MindSpore, trans.cc (C0 by type)
  NC1HWC0           nchw   4|8|16 0 1 2 3 / 1,32B fill 0
    > C0 is 32 bytes. For 32-bit elements the sources differ (8 or 16), so that width is left out.
  NC1HWC0_C04       nchw   -  0 1 2 3 / 1,4 fill 0
  NDC1HWC0          ncdhw  4|8|16 0 2 1 3 4 / 1,32B fill 0
  FRACTAL_Z         oihw   4|8|16 1 2 3 0 / 0,16 1,32B fill 0
    > Convolution weights; the documents write n for o and c for i.
  FRACTAL_Z_3D      oidhw  4|8|16 2 1 3 4 0 / 0,16 1,32B fill 0
  FRACTAL_NZ        mn     4|8|16 1 0 / 0,16 1,32B fill 0
    > Dimensions in front of the last two are row-major.

tenstorrent Tenstorrent TT-Metalium documentation, advanced topics, tiles
  TILE              hw     -  0 1 / 0,2 1,2 0,16 1,16 fill 0
    > A 32x32 tile of four 16x16 faces. Dimensions in front of the last two are row-major.
  ROW_MAJOR         hw     -  0 1

bnns Apple Accelerate documentation, BNNSDataLayout, for default strides
  ImageCHW          chw    -  0 1 2
  ConvolutionWeightsOIHW        oihw - 0 1 2 3
  ConvolutionWeightsOIHW_Pack32 oihw - 0 1 2 3 / 0,32
    > The array starts at a multiple of 128 bytes.
  2DFirstMajor      ab     -  0 1
  2DLastMajor       ab     -  1 0
  3DFirstMajor      abc    -  0 1 2
  3DLastMajor       abc    -  2 1 0
  4DFirstMajor      abcd   -  0 1 2 3
  4DLastMajor       abcd   -  3 2 1 0

metal Apple Metal documentation (OS 26), MTLTensorDescriptor.strides, usage machineLearning
  MTLTensor         abcd   8|16|32 3 2 1 0 / 0,64B
    > The innermost dimension comes first, and the second stride is a multiple of 64 bytes; other ranks alike.
"""

# What a vendor writes before or after the names of the table.
_AFFIXES = {
    "htp": ("MemoryLayout", "Layout"),
    "tensorrt": ("TensorFormat::",),
    "cudnn": ("CUDNN_TENSOR_",),
    "cublaslt": ("CUBLASLT_ORDER_", "CUBLASLT_MATMUL_MATRIX_SCALE_"),
    "hipblaslt": ("HIPBLASLT_ORDER_",),
    "smem": ("Layout_", "_Atom"),
    "ascend": ("ACL_FORMAT_", "FORMAT_"),
    "tenstorrent": ("_LAYOUT",),
    "bnns": ("BNNSDataLayout",),
}


class Entry(NamedTuple):
    """A named format: its forms by the width of the elements in bits, or under None the only one."""

    name: str
    axes: str
    forms: Mapping[int | None, Format | Layout]
    provenance: str
    note: str = ""

    @property
    def format(self) -> Format | Layout:
        """The only form; refused where it depends on the width of the elements."""
        return self.at(None)

    def at(self, element_bits: int | None) -> Format | Layout:
        """The form for elements of that width, which only a name with several forms needs."""
        if None in self.forms:
            return self.forms[None]
        if element_bits not in self.forms:
            raise ShapeError(
                f"{self.name} depends on the width of the elements, got {element_bits or 'no'} bits.",
                hint=f"say it by element_bits= or dtype=; there are forms for {', '.join(map(str, self.forms))} bits",
                name=self.name,
                element_bits=element_bits,
            )
        return self.forms[element_bits]


class _Entries(Mapping[str, Entry]):
    """The table by full names, read when it is first asked for."""

    def __getitem__(self, name: str) -> Entry:
        return _read()[0][name]

    def __iter__(self) -> Iterator[str]:
        return iter(_read()[0])

    def __len__(self) -> int:
        return len(_read()[0])


ENTRIES: Mapping[str, Entry] = _Entries()
"""Every named format by its full name, without the other names that some have."""


def names(pattern: str = "*") -> list[str]:
    """Every name that fits the pattern, as in ``names("htp:*")``, the other names that some formats have included."""
    entries, others = _read()
    return [name for name in (*entries, *others) if fnmatchcase(name, pattern)]


def get(name: str, element_bits: int | None = None) -> Format | Layout:
    """The format of that name, or the layout of a tile of that name.

    Vendors' prefixes and suffixes may stay on (``htp:R4CroutonLayout``, ``cublaslt:CUBLASLT_ORDER_COL32``). Where the
    width of the elements decides, ``element_bits`` must be given.

    >>> print(get("tensorrt:kCHW32"))
    0 1 2 3 / 1,32 axes nchw fill 0
    """
    return entry(name).at(None if element_bits is None else as_int(element_bits, "element_bits"))


def entry(name: str) -> Entry:
    """All that is known under that name, in any of the spellings that ``get`` takes."""
    if not isinstance(name, str):
        raise ShapeError(f"a name is a text, got {shown(name)}.", hint="as in htp:R4Crouton", name=name)
    found = named(name)
    if found is None:
        raise ShapeError(f"there is no format named {shown(name)}.", hint=_near(name), name=name)
    return found


def named(name: str) -> Entry | None:
    """The same, or None."""
    entries, others = _read()
    system, _, short = name.partition(":")
    for affix in _AFFIXES.get(system, ()):
        short = short.removeprefix(affix).removesuffix(affix)
    for candidate in (name, f"{system}:{short}"):
        found = entries.get(candidate) or others.get(candidate)
        if found is not None:
            return found
    return None


def systems() -> set[str]:
    """What stands before the colon of the names."""
    return {name.partition(":")[0] for name in names()}


def find(layout: Layout | Format, element_bits: int | None = None) -> list[str]:
    """The names of the formats that give this layout; of a layout of few elements there may be many.

    A format has the names of all equivalent ones, dimensions matched by name where it has names. A layout has the names
    whose layout for its extents is the same function and needs the same storage, and of the tiles that are the same.
    With ``element_bits`` only names that are for elements of that width.
    """
    if isinstance(layout, Format):
        block = product(layout.block_shape)
        fits = [name for name, what, size in _formats() if size == block and _alike(layout, what)]
        found = list(dict.fromkeys(fits))
        return [name for name in found if _has_width(name, element_bits, layout)]
    layout = as_layout(layout, "find")
    groups = [] if layout.has_basis else list(_fits(layout))
    found = list(dict.fromkeys([name for group in groups for name in group]))
    return [name for name in found if _has_width(name, element_bits, layout)]


def _has_width(name: str, bits: int | None, x: Layout | Format) -> bool:
    """Whether the form of that name for elements of this width, if one is asked for, is ``x``."""
    if bits is None:
        return True
    forms = ENTRIES[name].forms
    what = forms.get(bits, forms.get(None))
    if what is None or (isinstance(what, Format) and what.element_bits not in (None, bits)):
        return False
    if len(forms) == 1 or isinstance(x, Format):
        return len(forms) == 1 or _alike(x, what)  # type: ignore[arg-type]
    made = what if isinstance(what, Layout) else what.layout(x.extents, left_pad=x.origin)
    return made.extents == x.extents and _same(made, x)


def _alike(fmt: Format, what: Format | Layout) -> bool:
    """Whether both are the same format, dimensions matched by name where both have names."""
    if not isinstance(what, Format) or what.rank != fmt.rank:
        return False
    if fmt.axes is None or what.axes is None:
        return what.equivalent(fmt)
    return set(what.axes) == set(fmt.axes) and what.aligned(fmt.axes).equivalent(fmt)


def _fits(layout: Layout) -> Iterator[list[str]]:
    """The names of each form that is proven to be this layout. Most others fail at a glance: by size or by one step."""
    extents, origin, storage = layout.extents, layout.origin, layout.storage_size
    start = layout(0) if layout.size else 0
    steps = {}
    for d, n in enumerate(extents):
        if layout.size and n > 1 and origin[d] == 0:
            steps[d] = layout(*[int(k == d) for k in range(len(extents))]) - start
    for form in _distinct():
        if isinstance(form.what, Layout):
            if form.what.extents == extents and _same(form.what, layout):
                yield form.names
        elif (
            len(form.block) == len(extents)
            and product(tuple([-(-(n + o) // b) * b for n, o, b in zip(extents, origin, form.block)])) == storage
            and all(steps.get(d, step) == step for d, step in form.steps)
            and (layout.size == 0 or _same(form.what.layout(extents, left_pad=origin), layout))
        ):
            yield form.names


def _same(a: Layout, b: Layout) -> bool:
    """Whether both are proven to be the same function."""
    try:
        return a.equivalent(b)
    except LimitExceeded:
        return False


def _near(name: str) -> str:
    """The names most like this one, or how to list them all."""
    listed = ", ".join(near(name))
    return f"did you mean {listed}?" if listed else 'names() lists all of them, names("htp:*") those of one system'


def near(name: str) -> list[str]:
    """The names most like this one."""
    from difflib import get_close_matches

    known = {n.lower(): n for n in names()}
    shorts = {n.partition(":")[2]: n for n in reversed(known)}
    wanted = name[:80].lower()
    close = [known[n] for n in get_close_matches(wanted, known, 3)]
    close += [known[shorts[n]] for n in get_close_matches(wanted.partition(":")[2] or wanted, shorts, 3, 0.8)]
    return list(dict.fromkeys(close))


# ---- reading the table -----------------------------------------------------------------------------------


@cache
def _read() -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The entries by name, and the other names that stand for one or, by the width of the elements, for several."""
    entries: dict[str, Entry] = {}
    others: dict[str, Entry] = {}
    forms: dict[int | None, Format | Layout]
    system = provenance = name = ""
    for line in filter(None, _TABLE.splitlines()):
        words = line.split()
        if not line.startswith(" "):
            system, _, provenance = line.partition(" ")
        elif words[0] == ">":
            entries[name] = entries[name]._replace(note=" ".join(words[1:]))
        elif words[1] == "=":
            forms = {}
            for target in words[2:]:
                width, _, short = target.rpartition(":")
                named = entries[f"{system}:{short}"]
                forms.update({int(width): named.format} if width else named.forms)
            name = words[0] if ":" in words[0] else f"{system}:{words[0]}"
            others[name] = named._replace(
                name=name, forms=MappingProxyType(forms), note=f"Another name of {', '.join(words[2:])}."
            )
        else:
            name, axes, widths = f"{system}:{words[0]}", words[1], words[2]
            forms = dict(_forms(axes, widths, " ".join(words[3:])))
            entries[name] = Entry(name, axes, MappingProxyType(forms), provenance)
    return entries, others


def _forms(axes: str, widths: str, text: str) -> Iterator[tuple[int | None, Format | Layout]]:
    """The forms of one line of the table by width; under None if there is one form only."""
    bits = [] if widths == "-" else [int(width) for width in widths.split("|")]
    if ":" in text:
        tile = Layout.parse(text, "cute")
        yield from [(width, upcast(tile, width)) for width in bits] if len(bits) > 1 else [(None, tile)]
    elif len(bits) > 1:
        yield from [(width, _format(text, axes, width)) for width in bits]
    else:
        yield None, _format(text, axes, *bits)


def _format(text: str, axes: str, width: int | None = None) -> Format:
    """The format of a line, bytes counted in elements of that width."""
    if width is None:
        return Format.parse(f"{text} axes {axes}")
    counted = re.sub(r"(\d+)B", lambda count: str(int(count[1]) * 8 // width), text)
    return Format.parse(f"{counted} axes {axes} element_bits {width}")


class _Form(NamedTuple):
    """A form, the names that have it, its block, and what one step moves along the dimensions where that is fixed."""

    what: Format | Layout
    names: list[str]
    block: tuple[int, ...] = ()
    steps: tuple[tuple[int, int], ...] = ()


@cache
def _formats() -> list[tuple[str, Format, int]]:
    """Every format with its name and the size of its blocks."""
    forms = [(e.name, what) for e in _read()[0].values() for what in e.forms.values()]
    return [(name, what, product(what.block_shape)) for name, what in forms if isinstance(what, Format)]


@cache
def _distinct() -> list[_Form]:
    """Every form once, in the order of the table."""
    forms: dict[Any, _Form] = {}
    for named in _read()[0].values():
        for what in named.forms.values():
            key = what if isinstance(what, Layout) else what._essence()
            if key not in forms:
                forms[key] = _Form(what, []) if isinstance(what, Layout) else _form(what)
            forms[key].names.append(named.name)
    return list(forms.values())


def _form(fmt: Format) -> _Form:
    """A step is fixed inside a block, and along the fastest rest of a dimension without one."""
    strides = Layout.row_major(tuple([f.size for f in fmt.blocks])).stride
    steps = [(f.dim, d) for f, d in zip(fmt.blocks, strides) if f.step == 1 and f.size > 1]
    if fmt.block_shape[fmt.order[-1]] == 1:
        steps.append((fmt.order[-1], product(fmt.block_shape)))
    return _Form(fmt, [], fmt.block_shape, tuple(steps))
