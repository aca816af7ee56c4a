"""Functions on layouts: composition, divides, products, inverses, linear layouts."""
