# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the documentation site, generated from the code at every build.

Commands come from the command line's own tree, node parameters from the configuration classes,
interfaces from the .msg, .srv and .action files, Python from the doors of the rooms (mkdocstrings).
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def on_config(config: Any) -> Any:
    """List the rooms' pages under the reference (a hook of mkdocs)."""
    (reference,) = [part["Reference"] for part in config.nav if "Reference" in part]
    reference.insert(0, {"Python": [{name: f"reference/python/{name}.md"} for name in rooms()]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for name, make in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    for name in rooms():
        files.append(File.generated(config, f"reference/python/{name}.md", content=room(name)))
    return files


def constants() -> str:
    """Every number that decides over results."""
    spec = importlib.util.spec_from_file_location("constants", ROOT / "scripts" / "constants.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["constants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.page())


def commands() -> str:
    """Every command of `sysid` with its options."""
    import typer

    from sysid_cli.app import app

    importlib.import_module("sysid_cli")
    lines = ["# Commands", "", "`sysid COMMAND --help` shows the same in the terminal.", ""]
    for name, command in _leaves(typer.main.get_command(app), "sysid"):
        lines += [f"## `{name}`", "", inspect.cleandoc(command.help or ""), ""]
        if command.epilog:
            lines += ["```", command.epilog.removeprefix("Example: "), "```", ""]
        lines += ["| option | what it does | default |", "|---|---|---|"]
        for option in command.params:
            names = ", ".join(f"`{o}`" for o in option.opts if o != "--help")
            if names:
                default = "" if option.default in (None, "", (), []) else f"`{option.default}`"
                text = _cell(getattr(option, "help", "") or "")
                lines.append(f"| {names} | {text} | {_cell(default)} |")
        lines.append("")
    return "\n".join(lines)


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for key, child in sorted(command.commands.items()):
            yield from _leaves(child, f"{name} {key}")
    else:
        yield name, command


def parameters() -> str:
    """Parameters of every node, read from its configuration class without importing ROS."""
    lines = ["# Parameters of the nodes", ""]
    for file in sorted((ROOT / "sysid_nodes").rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            rows = _parameter_rows(node) if isinstance(node, ast.ClassDef) else []
            if rows:
                doc = ast.get_docstring(node) or node.name  # type: ignore[arg-type]
                lines += [f"## {doc.splitlines()[0].rstrip('.')}", ""]
                lines += ["| parameter | default | what it is |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _parameter_rows(node: ast.ClassDef) -> list[str]:
    rows = []
    for field in node.body:
        call = getattr(field, "value", None)
        if not (isinstance(field, ast.AnnAssign) and isinstance(call, ast.Call)):
            continue
        if getattr(call.func, "id", "") != "parameter" or len(call.args) < 2:
            continue
        default, text = (ast.unparse(argument) for argument in call.args[:2])
        extra = "; ".join(f"{k.arg} {ast.unparse(k.value)}" for k in call.keywords)
        with contextlib.suppress(ValueError):  # a name is shown as it is written
            text = str(ast.literal_eval(call.args[1]))
        rows.append(
            f"| `{ast.unparse(field.target)}` | `{_cell(default)}` |"
            f" {_cell(text)}{f' ({_cell(extra)})' if extra else ''} |"
        )
    return rows


def interfaces() -> str:
    """Definitions of messages, services and actions."""
    lines = ["# Messages, services, actions", ""]
    for kind in ("msg", "srv", "action"):
        for file in sorted((ROOT / kind).glob(f"*.{kind}")):
            lines += [f"## robot_sysid/{kind}/{file.stem}", "", "```", file.read_text().rstrip()]
            lines += ["```", ""]
    return "\n".join(lines)


def rooms() -> list[str]:
    """Every door of the core: `sysid_core.robot`, `sysid_core.robot.loops`, …"""
    doors = sorted((ROOT / "sysid_core").rglob("__init__.py"))
    return [".".join(door.parent.relative_to(ROOT).parts) for door in doors]


def room(name: str) -> str:
    """Page of a door: every name that it exports, with signature, shapes and errors, by mkdocstrings."""
    exports = getattr(importlib.import_module(name), "__all__", [])
    options = "".join(f"        - {export}\n" for export in exports)
    members = f"      members:\n{options}" if exports else "      members: false\n"
    return f"# `{name}`\n\n::: {name}\n    options:\n      show_root_heading: false\n{members}"


def reasons() -> str:
    """Every code that verdicts may hold: sentence, meaning, remedy."""
    from sysid_core.reasons import TEXTS

    lines = ["# Reasons of verdicts", ""]
    lines += [
        "`result.json` lists each reason by its code, with a severity (failure, warning, held, not"
        " judged) and its data; terminal and report show the sentence, data in place of the names in"
        " braces. Codes are stable.",
    ]
    for code, text in TEXTS.items():
        link = f"[{text.page.removesuffix('.md')}](../{text.page})"
        lines += ["", f"## {code}", "", f"*{text.title}.* {_cell(text.sentence)}", ""]
        lines += [text.meaning, ""] if text.meaning else []
        lines += [f"**To do:** {_cell(text.remedy)}", ""] if text.remedy else []
        lines += [f"More: {link}."]
    return "\n".join(lines)


def glossary() -> str:
    """Words and symbols."""
    from sysid_core.report.html import GLOSSARY

    rows = [f"| {_cell(w.replace('|', ', '))} | {_cell(text)} |" for w, text in GLOSSARY.items()]
    return "\n".join(["# Words and symbols", "", "| | |", "|---|---|", *rows, ""])


def friction() -> str:
    """Every friction term: torque, unit of its parameters, effect."""
    from sysid_core.robot import FrictionTerm

    lines = [
        "# Friction terms",
        "",
        "`s = tanh(v / v_0)`; v is the velocity, q the position and a the acceleration of the joint,"
        " tau_rb its rigid-body torque, w a number of waves per turn from the column map. Units are"
        " those of revolute joints.",
        "",
        "| term | torque | unit | effect |",
        "|---|---|---|---|",
    ]
    for term in FrictionTerm:
        lines.append(f"| `{term.value}` | `{term.torque}` | {term.unit} | {_cell(term.purpose)} |")
    return "\n".join([*lines, ""])


def packages() -> str:
    """Every package with the first line of its docstring."""
    lines = ["# Packages", "", "| package | contents |", "|---|---|"]
    for top in sorted(ROOT.glob("sysid_*/__init__.py"), key=lambda file: file.parent.name):
        for file in sorted(top.parent.rglob("__init__.py")):
            name = ".".join(file.parent.relative_to(ROOT).parts)
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            lines.append(f"| `{name}` | {_cell(text.split(chr(10))[0])} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


PAGES = {
    "commands": commands,
    "parameters": parameters,
    "interfaces": interfaces,
    "reasons": reasons,
    "glossary": glossary,
    "constants": constants,
    "friction": friction,
    "packages": packages,
}
