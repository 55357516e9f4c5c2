# SPDX-License-Identifier: Apache-2.0
"""Package interfaces that import a module at the first use of one of its names.

A door that gathers heavy rooms imports its names below `TYPE_CHECKING`, for readers and type checkers, and
has `__getattr__ = names_of(__name__, __file__)` for the interpreter (PEP 562), which reads the same lines.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def names_of(package: str, file: str) -> Callable[[str], Any]:
    """Function `__getattr__` of a package that imports its names on demand.

    Args:
        package: `__name__` of the door.
        file: `__file__` of the door, whose imports from its package say where the names are.
    """
    where = {
        name.asname or name.name: (node.module, name.name)
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
        for name in node.names
    }

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, its = where[name]
        value = getattr(import_module(str(module)), its)
        setattr(sys.modules[package], name, value)
        return value

    return get
