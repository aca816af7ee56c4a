"""For those who add a container: ``conformance(x)`` checks every law that one keeps, and names those that it breaks."""

from .kit import ConformanceError, conformance

__all__ = ["ConformanceError", "conformance"]
