"""Storage with a layout and a meaning."""
