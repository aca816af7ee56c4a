"""The search behind ``advise``: what accesses ask of a buffer, and the layouts that are tried for it."""
