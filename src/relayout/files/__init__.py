"""Tensors in files: containers, what travels with them, and the jobs that rewrite them."""
