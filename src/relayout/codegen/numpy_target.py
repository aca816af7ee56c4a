"""numpy as a target."""

from __future__ import annotations

from .array_library import ArrayLibrary
from .array_target import ArrayTarget

TARGET = ArrayTarget(ArrayLibrary(), "reshape, transpose and pad of flat arrays, gathers otherwise")
