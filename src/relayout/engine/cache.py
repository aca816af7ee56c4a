"""Values that are looked up by a key that is made for them; functions of hashable values have ``lru_cache``."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


class Cache(dict[object, Value]):
    """Values by their keys. When there are ``most`` of them all are evicted: lookups stay those of a plain dict."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: object, value: Value) -> Value:
        """Store a value, and return it."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value
