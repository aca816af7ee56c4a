"""Exact arithmetic that knows no layout: nested tuples, lattices, GF(2)."""
