"""Questions about layouts and data: compare, explain, rosetta, infer, guards."""
