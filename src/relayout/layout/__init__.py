"""The value: hierarchical shape and stride, its views, its ranges, and the comparison of two."""
