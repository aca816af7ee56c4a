"""Values that never change once made: a base of classes, and tuples whose entries have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple


class Immutable:
    """A base whose attributes can be neither set nor deleted; subclasses fill them in ``__new__``."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be deleted")


class _NamedTupleMaker(type):
    """Makes a named tuple of a class body: of its annotations the fields, of their values the defaults."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        from collections import namedtuple

        types = body.get("__annotations__", {})
        defaults = [body[field] for field in types if field in body]
        if not types or any(field in body for field in list(types)[: len(types) - len(defaults)]):
            raise TypeError(f"{name} has fields with annotations, and those with a default are the last.")
        made = namedtuple(name, types, defaults=defaults, module=body["__module__"])  # type: ignore[misc]
        made.__annotations__ = types
        for key, value in body.items():
            if key not in types and key not in ("__annotations__", "__module__"):
                setattr(made, key, value)
        return made


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_NamedTupleMaker):
        """``typing.NamedTuple`` for who is imported on the way to a first answer.

        Python 3.11 compiles every annotation of such a class to look at it, which takes longer than the rest of most
        modules.
        """
