"""Copies on the host: by the compiled core where it can, else by numpy, with equal results."""
