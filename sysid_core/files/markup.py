# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON as plain data, without duplicate keys, deep nesting or exponentially growing
aliases.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from sysid_core.files.kind import FileKind
from sysid_core.files.opening import read_text
from sysid_core.files.writing import write_text
from sysid_core.kinds import Kind

# libyaml's parser and emitter are 20 times as fast; PyYAML is built without them at some places.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _SafeDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML writer of plain data and enumerations."""


_SafeDumper.add_multi_representer(Kind, lambda dumper, kind: dumper.represent_str(kind.value))

_DEEPEST = 40  # levels of nesting
_SURELY_SAFE = 5000  # signs that open a level, below which no depth is looked at
_MOST_NODES = 2_000_000  # once aliases are written out


class _Loader(_SafeLoader):  # type: ignore[misc]  # whichever of the two there is
    """YAML loader of plain data only; `1e-3` is a number, as in YAML 1.2."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789")
)


def parse_yaml(text: str, kind: FileKind, path: str | Path) -> Any:
    """Plain data of a YAML text.

    Args:
        text: The text.
        kind: What it should be.
        path: Where it comes from, for errors.

    Raises:
        SysIdError: no YAML, a key twice, nested too deeply, or explosive aliases.
    """
    loader = _Loader(text)
    try:
        _refuse_deep(text, kind, path)
        node = loader.get_single_node()
        if node is None:
            return None
        _count_nodes(node, 0, {}, kind, path)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise kind.refusal(
            path, f"it is not valid YAML{where}: {err.problem or err.context}"
        ) from err
    except (yaml.YAMLError, ValueError, OverflowError) as err:
        raise kind.refusal(path, f"it is not valid YAML: {str(err).splitlines()[0]}") from err
    finally:
        loader.dispose()


def read_yaml(path: str | Path, kind: FileKind) -> Any:
    """Plain data of a YAML file (see `parse_yaml`)."""
    return parse_yaml(read_text(path, kind), kind, path)


def write_yaml(path: str | Path, content: object, *, head: str = "") -> None:
    """Write plain data as a YAML file, keys in the order given.

    Args:
        path: The file.
        content: Numbers, texts, lists, mappings.
        head: Comment lines at its top.
    """
    write_text(path, head + yaml_text(content))


def yaml_text(content: object, *, compact: bool = False) -> str:
    """Plain data as YAML in the given order; lists of numbers on one line."""
    style = None if compact else False
    return str(
        yaml.dump(content, Dumper=_SafeDumper, sort_keys=False, width=100, default_flow_style=style)
    )


def read_json(path: str | Path, kind: FileKind) -> Any:
    """Plain data of a JSON file.

    Raises:
        SysIdError: no JSON, or a key twice.
    """
    return parse_json(read_text(path, kind), kind, path)


def parse_json(text: str, kind: FileKind, path: str | Path) -> Any:
    """Plain data from a JSON text.

    Raises:
        SysIdError: no JSON, or a key twice.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise kind.refusal(path, f"it has the key `{twice}` twice", "Keep one of the two.")
        return content

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as err:
        raise kind.refusal(path, f"it is not valid JSON: {err}") from err


def _refuse_deep(text: str, kind: FileKind, path: str | Path) -> None:
    """libyaml's composer recurses in C: 100 000 levels end the process before anybody can look."""
    deepest_line = max((len(line) - len(line.lstrip(" ")) for line in text.splitlines()), default=0)
    signs = sum(map(text.count, ("[", "{", "- ", "-\t", "-\n", "? ", "?\t", "?\n")))
    if deepest_line + signs < _SURELY_SAFE:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise kind.refusal(path, f"it is nested more than {_DEEPEST} levels deep")


def _count_nodes(
    node: yaml.Node, depth: int, sizes: dict[int, int], kind: FileKind, path: str | Path
) -> int:
    """Nodes below a node, aliases written out; refuses on the way what no file of ours has."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    known = sizes.get(id(node))
    if known is not None:
        if known == 0:
            raise kind.refusal(path, "an alias refers to its own container")
        return known
    if depth > _DEEPEST:
        raise kind.refusal(path, f"it is nested more than {_DEEPEST} levels deep")
    sizes[id(node)] = 0
    children = node.value
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in seen and name != "<<":
                line = key.start_mark.line + 1
                raise kind.refusal(
                    path,
                    f"the key `{name}` occurs again in line {line}",
                    "Keep only one of the two.",
                )
            seen.add(name)
        children = [child for pair in node.value for child in pair]
    size = 1 + sum(_count_nodes(child, depth + 1, sizes, kind, path) for child in children)
    if size > _MOST_NODES:
        raise kind.refusal(path, f"it has more than {_MOST_NODES} entries")
    sizes[id(node)] = size
    return size
