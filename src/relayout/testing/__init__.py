"""For those who add a dialect, a format, a container or an architecture: ``conformance`` names every law it breaks."""

from .kit import ConformanceError, conformance

__all__ = ["ConformanceError", "conformance"]
