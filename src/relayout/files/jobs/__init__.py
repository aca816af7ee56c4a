"""Repacks and comparisons of files: parts, threads, the journal."""
