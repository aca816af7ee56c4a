"""Layouts before the shape is known: formats, the catalog of names, interleaving."""
