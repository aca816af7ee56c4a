"""For those who add a dialect, a format, a container, an architecture or an atom: ``conformance`` names broken laws."""

from .kit import ConformanceError, conformance

__all__ = ["ConformanceError", "conformance"]
