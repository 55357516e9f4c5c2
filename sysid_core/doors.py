# SPDX-License-Identifier: Apache-2.0
"""Doors that import a name's file when the name is used: the one way in which this package is lazy.

A door that gathers heavy rooms lists its names below `TYPE_CHECKING` for readers and type checkers,
and has `__getattr__ = names_of(__name__, {...})` for the interpreter (PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """A door's `__getattr__`.

    Args:
        package: `__name__` of the door.
        modules: Names by the module, relative to the door, that has them; `its as ours` where they
            differ.
    """
    where = {
        name.split(" as ")[-1]: (module, name.split(" as ")[0])
        for module, names in modules.items()
        for name in names
    }

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, its = where[name]
        value = getattr(import_module(module, package), its)
        setattr(sys.modules[package], name, value)
        return value

    return get
