"""ACME's NPU: eight lanes and eight banks of 4 bytes; even and odd lanes take turns at accesses of 8 bytes."""

from relayout.hardware import Access, Architecture
from relayout.hardware.architecture import cosets, in_order

MANUAL = "ACME NPU manual, chapter 4"

NPU = Architecture(
    "npu1",
    "ACME NPU, first generation",
    "ACME",
    lanes=8,
    banks=8,
    bank_bytes=4,
    accesses={
        "ds_read_b32": Access("ds_read_b32", 4, in_order(8, 8), "documented", MANUAL),
        "ds_read_b64": Access("ds_read_b64", 8, cosets((2, 4), (1,)), "documented", MANUAL),
    },
    refused={"ds_write_b32": "the manual says nothing about writes"},
)
