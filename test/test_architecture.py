# SPDX-License-Identifier: Apache-2.0
"""The arrows of the design: layers, rooms, and what a user is shown."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "sysid_core"
# In the order of the arrows: a room imports only rooms above it, a sub-room only sub-rooms of its
# room above it.
ROOMS: dict[str, tuple[str, ...]] = {
    "files": (),
    "batch": (),
    "robot": ("urdf", "shapes", "loops"),
    "controller_payload": (),
    "identifiability": ("rpna", "composite_bodies"),
    "excitation": ("design", "execution", "payload", "sequential", "closed_chain"),
    "signals": ("filters", "wrench", "bags"),
    "estimation": (
        "fit", "arm", "closed_chain", "sequential", "payload", "payload_map", "payload_live",
        "loaded_arm",
    ),
    "plausibility": (),
    "validation": (),
    "report": (),
    "pipeline": (),
    "certificate": (),
    "bench": (),
    "fleet": (),
    "studies": ("constrained", "payload"),
    "cli": ("bag", "identify", "live", "many", "plan", "reproduce", "validate"),
}  # fmt: skip
DOORS = [(room,) for room in ROOMS] + [(r, sub) for r, subs in ROOMS.items() for sub in subs]
ORDER = [door for room, subs in ROOMS.items() for door in [(room,), *((room, s) for s in subs)]]
LONGEST_FILE, MOST_FILES = 350, 14
ROS = ("rclpy", "robot_sysid", "launch", "launch_ros", "sensor_msgs", "geometry_msgs", "std_msgs")


def imports_of(file: Path) -> set[str]:
    """Modules that a file imports, relative imports excluded."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def door_of(module: str) -> tuple[str, ...]:
    """Room or sub-room that a module of the core belongs to: `("estimation", "fit")`."""
    parts = tuple(module.split(".")[1:])
    return parts[:2] if parts[:2] in DOORS else parts[:1]


def core_imports(file: Path) -> set[str]:
    """Modules of the core that a file imports from: `sysid_core.signals.bags`, or past its door."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sysid_core.")
    } | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.startswith("sysid_core.")
    }
    return {m for m in found if door_of(m) in DOORS}


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("door", DOORS, ids="/".join)
def test_a_room_imports_only_rooms_above_it(door: tuple[str, ...]) -> None:
    room = door[0]
    order, folder = list(ROOMS), CORE.joinpath(*door)
    wrong = []
    for file in sorted(folder.glob("*.py") if len(door) == 1 else folder.rglob("*.py")):
        for module in sorted(core_imports(file)):
            other = door_of(module)
            if other[0] != room:
                allowed = order.index(other[0]) < order.index(room)
            elif len(door) == 2 and len(other) == 2:
                allowed = ORDER.index(other) <= ORDER.index(door)
            else:
                allowed = True  # a room's own files and its sub-rooms; a circle wouldn't import
            if not allowed:
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_nobody_imports_past_a_door() -> None:
    """From outside a room or sub-room only its door is imported; a sub-room knows its room's files."""
    wrong = []
    for folder in (
        "sysid_core",
        "sysid_nodes",
        "sysid_demos",
        "sysid_monitor",
        "sysid_rqt",
        "test",
        "benchmarks",
        "launch",
    ):
        for file in sorted((ROOT / folder).rglob("*.py")):
            own = door_of(module_of(file)) if folder == "sysid_core" else ()
            if own[:1] == ("cli",):
                own = ()
            for module in core_imports(file):
                other = door_of(module)
                inside = own[: len(other)] == other
                if other[0] != "cli" and not inside and len(module.split(".")) - 1 > len(other):
                    wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_no_folder_is_crowded_and_no_file_is_long() -> None:
    for folder in {file.parent for file in CORE.rglob("*.py")}:
        files = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        assert len(files) <= MOST_FILES, folder
        for file in files:
            lines = len(file.read_text(encoding="utf-8").splitlines())
            assert lines <= LONGEST_FILE, f"{file.relative_to(ROOT)}: {lines} lines"


def test_the_core_knows_no_ros_and_only_the_cli_a_command_line_library() -> None:
    wrong = []
    for file in sorted(CORE.rglob("*.py")):
        for module in imports_of(file):
            top = module.split(".")[0]
            if top in ROS or top in ("sysid_nodes", "sysid_demos", "sysid_monitor", "sysid_rqt"):
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
            if top in ("typer", "click") and CORE / "cli" not in file.parents:
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_only_the_studies_and_the_demos_know_the_papers_objects() -> None:
    users = [
        file.name
        for file in (ROOT / "sysid_nodes").rglob("*.py")
        if any(m.startswith(("sysid_core.studies", "sysid_demos")) for m in imports_of(file))
    ]
    assert not users


def test_every_room_declares_its_public_api_in_order() -> None:
    for door in DOORS:
        if door[0] == "cli" and len(door) == 2:
            continue
        tree = ast.parse(CORE.joinpath(*door, "__init__.py").read_text(encoding="utf-8"))
        declared = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ]
        assert len(declared) == 1, door
        assert len(declared[0]) == len(set(declared[0])), door


def test_every_message_field_says_its_unit_or_meaning() -> None:
    for file in [p for kind in ("msg", "srv", "action") for p in (ROOT / kind).glob("*.*")]:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith(("#", "---")):
                assert "#" in line, f"{file.name}: {line}"


def test_the_readmes_python_block_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert "43 of 70" in capsys.readouterr().out


def test_the_commands_of_the_readme_exist() -> None:
    from typer.testing import CliRunner

    from sysid_core.cli.app import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    groups = re.findall(r"`sysid (\w[\w-]*)", text)
    known = CliRunner().invoke(app, ["--help"]).output
    missing = sorted({name for name in groups if name not in known})
    assert not missing
