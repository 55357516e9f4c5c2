# SPDX-License-Identifier: Apache-2.0
"""Import of heavy libraries, and of the public names of packages, at their first use.

The `__init__.py` of a package with slow imports lists these imports below `TYPE_CHECKING`, for
readers and type checkers. At run time, `__getattr__ = names_of(__name__, __file__)` (PEP 562) reads
the same lines and imports each name on demand.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

# What `inspect` asks of all modules to find the caller of a function, as each first log message
# of rclpy does: no reason to load them.
_KNOWN = ("__file__", "__name__")


class _Unloaded(ModuleType):
    """Module that is loaded when an attribute other than its name and file is used."""

    def __getattribute__(self, attribute: str) -> Any:
        if attribute in _KNOWN:
            return object.__getattribute__(self, attribute)
        loading = object.__getattribute__(self, "__spec__").loader_state["_lazy"]
        object.__setattr__(self, "__class__", loading)  # importlib's own
        return getattr(self, attribute)


def lazy_import(name: str) -> Any:
    """Return the module that is loaded at the first access to one of its attributes.

    A node that never solves a cone program then needs neither the time nor the memory for the
    import of such a module (a quarter of a second and about 40 MB for each). The recipe is that of
    `importlib.util.LazyLoader`.

    Raises:
        ModuleNotFoundError: The module is not installed.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    spec.loader_state["_lazy"] = type(module)
    object.__setattr__(module, "__class__", _Unloaded)
    return module


def names_of(package: str, file: str) -> Callable[[str], Any]:
    """Return a function `__getattr__` of a package that imports its names on demand.

    Args:
        package: Variable `__name__` of the package.
        file: Variable `__file__` of the package, whose imports state the modules of the names.
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
