"""For those who add a dialect, a named format or a container: ``conformance`` names every law that it breaks."""

from .kit import ConformanceError, conformance

__all__ = ["ConformanceError", "conformance"]
