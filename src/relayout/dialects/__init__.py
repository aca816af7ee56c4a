"""The notations: one module each, one registry, one resolver."""
