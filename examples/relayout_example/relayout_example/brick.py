"""A named format: the bricks of 4 x 4 pixels and 16 channels that an imaginary NPU reads."""

from relayout import Format
from relayout.catalog import Entry

BRICK = Entry(
    "acme:Brick",
    "nhwc",
    {None: Format(4, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 4), (2, 4), (3, 16)], axes="nhwc", fill=0)},
    "ACME NPU programmer's guide, 3.2",
)
