"""Kinds of files, one module each."""
