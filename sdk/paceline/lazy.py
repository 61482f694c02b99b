"""Public names of a package that are loaded when they are first used."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy(
    namespace: dict[str, Any], homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package with these globals, whose names stand in these modules of it."""
    package: str = namespace["__name__"]
    home_of = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*namespace, *namespace["__all__"]})

    return load, names
