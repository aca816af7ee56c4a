"""Values that never change once made."""

from __future__ import annotations

from typing import NoReturn


class Immutable:
    """A base whose attributes can be neither set nor deleted; subclasses fill them in ``__new__``."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be deleted")
