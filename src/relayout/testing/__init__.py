"""For those who add a dialect, a format, a container, a machine, an atom or a reader: ``conformance`` checks it."""

from .kit import ConformanceError, conformance

__all__ = ["ConformanceError", "conformance"]
