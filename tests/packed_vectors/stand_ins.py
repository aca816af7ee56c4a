"""Imports single files of a large package: what else they import is stood in for by nothing that breaks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any


class Anything:
    """Has every attribute, takes every call, leaves what it decorates as it is, and adds nothing as a base class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, bases: Any) -> tuple[()]:
        return ()

    def __bool__(self) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__
    __and__ = __or__


class StandIn(ModuleType, Loader):
    """A module that has every attribute."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self

    def exec_module(self, module: ModuleType) -> None:
        pass


class TrueFile(SourceFileLoader):
    """Runs a file with some names that are there before it begins."""

    names: Mapping[str, Any] = MappingProxyType({})

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self.names)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the true files of some modules of a package, and stand-ins for all its others."""

    def __init__(self, root: Path, package: str, true: Sequence[str], names: Mapping[str, Any]) -> None:
        self.root, self.package, self.true, self.names = root, package, true, names

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        if fullname in self.true:
            file = self.root / (fullname.replace(".", "/") + ".py")
            found = file if file.exists() else file.with_suffix("") / "__init__.py"
            loader = TrueFile(fullname, str(found))
            loader.names = self.names
            return spec_from_file_location(fullname, found, loader=loader)
        spec = ModuleSpec(fullname, StandIn(fullname), is_package=True)
        spec.submodule_search_locations = []
        return spec


def load(root: Path, module: str, *also: str, without: Sequence[str] = (), **names: Any) -> Any:
    """The module of that name under ``root``: itself and ``also`` are true, the rest of its package is stood in for.

    ``without`` names other packages to stand in for; ``names`` are there before the module runs.
    """
    package = module.partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] in (package, *without)]:
        del sys.modules[name]
    finders = [Finder(root, package, (module, *also), names), *[Finder(root, other, (), {}) for other in without]]
    sys.meta_path[:0] = finders
    try:
        return importlib.import_module(module)
    finally:
        for finder in finders:
            sys.meta_path.remove(finder)
