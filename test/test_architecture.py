# SPDX-License-Identifier: Apache-2.0
"""The dependencies of the design: layers, rooms, and the names that users see."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "sysid_core"
# In the order of the arrows: a room imports only rooms above it, a sub-room only sub-rooms of its
# room above it.
ROOMS: dict[str, tuple[str, ...]] = {
    "reasons": (),
    "files": (),
    "robot": ("shapes", "loops"),
    "controller_payload": (),
    "identifiability": ("rpna", "composite_bodies"),
    "planning": ("design", "payload", "sequential", "closed_chain"),
    "execution": (),
    "signals": ("filters", "wrench", "bags"),
    "estimation": (
        "fit", "arm", "sequential", "payload", "payload_map", "payload_live",
        "loaded_arm", "arm_fit",
    ),
    "diagnosis": (),
    "simulation": (),
    "control": (),
    "validation": (),
    "export": (),
    "report": (),
    "servos": (),
    "workflows": (),
}  # fmt: skip
# The nodes and what they share, in the order of their arrows.
NODES = ROOT / "sysid_nodes"
NODE_ROOMS: tuple[str, ...] = (
    "conversions",
    "lifecycle",
    "security",
    "trajectory_executor",
    "explorer",
    "runner",
    "computed_torque_controller",
    "data_logger",
    "estimator",
    "payload_bridge",
    "simulated_robot",
    "client",
    "replay",
    "bringup",
)
DOORS = [(room,) for room in ROOMS] + [(r, sub) for r, subs in ROOMS.items() for sub in subs]
ORDER = [door for room, subs in ROOMS.items() for door in [(room,), *((room, s) for s in subs)]]
# The packages without ROS, in the order of their arrows: each imports only those before it.
PACKAGES = ("sysid_core", "sysid_fleet", "sysid_studies", "sysid_cli")
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


def modules_of(file: Path, package: str) -> set[str]:
    """Modules of a package that a file imports from: `sysid_core.signals.bags`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
    }
    return found | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.startswith(f"{package}.")
    }


def core_imports(file: Path) -> set[str]:
    """Modules of the core that a file imports from, also past a door."""
    return {m for m in modules_of(file, "sysid_core") if door_of(m) in DOORS}


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
    """From outside a room only doors are imported: its own and those of its sub-rooms.

    Tests and benchmarks may look inside: a name that only they use isn't a door's.
    """
    wrong = []
    for folder in (
        *PACKAGES,
        "sysid_nodes",
        "sysid_demos",
        "sysid_monitor",
        "sysid_rqt",
        "launch",
    ):
        for file in sorted((ROOT / folder).rglob("*.py")):
            own = door_of(module_of(file)) if folder == "sysid_core" else ()
            for module in core_imports(file):
                other = door_of(module)
                inside = own[:1] == other[:1]
                if not inside and len(module.split(".")) - 1 > len(other):
                    wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_the_nodes_rooms_import_only_rooms_above_them() -> None:
    wrong = []
    for file in sorted(NODES.rglob("*/*.py")):
        room = file.parent.name
        for module in sorted(modules_of(file, "sysid_nodes")):
            if NODE_ROOMS.index(module.split(".")[1]) > NODE_ROOMS.index(room):
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_nobody_imports_past_a_door_of_the_nodes() -> None:
    wrong = []
    for folder in ("sysid_nodes", "sysid_demos", "sysid_monitor", "sysid_rqt", "launch"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for module in modules_of(file, "sysid_nodes"):
                _, room, *rest = module.split(".")
                if rest and (folder, file.parent.name) != ("sysid_nodes", room):
                    wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_every_room_of_the_nodes_declares_its_names_in_order() -> None:
    folders = {NODES / room for room in NODE_ROOMS}
    assert {f.parent for f in NODES.rglob("*.py")} == {NODES, *folders}
    for folder in folders:
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        (block,) = re.findall(r"__all__(?:: list\[str\])? = (\[.*?\])", text, flags=re.DOTALL)
        names = ast.literal_eval(block)
        assert len(names) == len(set(names)), folder


def test_a_package_imports_only_packages_before_it() -> None:
    wrong = []
    for i, package in enumerate(PACKAGES):
        for file in sorted((ROOT / package).rglob("*.py")):
            later = [m for m in imports_of(file) if m.split(".")[0] in PACKAGES[i + 1 :]]
            wrong += [f"{file.relative_to(ROOT)} imports {module}" for module in later]
    assert not wrong


def test_the_core_knows_no_ros_and_only_the_cli_a_command_line_library() -> None:
    wrong = []
    for file in sorted(
        file for package in PACKAGES[:-1] for file in (ROOT / package).rglob("*.py")
    ):
        for module in imports_of(file):
            top = module.split(".")[0]
            if top in ROS or top in ("sysid_nodes", "sysid_demos", "sysid_monitor", "sysid_rqt"):
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
            if top in ("typer", "click"):
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_only_the_studies_and_the_demos_know_the_papers_objects() -> None:
    users = [
        file.name
        for file in (ROOT / "sysid_nodes").rglob("*.py")
        if any(m.startswith(("sysid_studies", "sysid_demos")) for m in imports_of(file))
    ]
    assert not users


def test_every_room_declares_its_public_api_in_order() -> None:
    for door in DOORS:
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


def test_the_set_up_compiles_what_exists() -> None:
    rooms = re.search(r"for room in ([\w. ]+);", (ROOT / "scripts" / "setup.sh").read_text("utf-8"))
    assert rooms is not None
    for room in rooms[1].split():
        tree = ast.parse((ROOT / (room.replace(".", "/") + ".py")).read_text("utf-8"))
        assert "warm_up" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_imported_name_exists_and_no_module_hides_one() -> None:
    """Type checkers know no names of lazy doors; a module named like a name of its door replaces it."""
    doors = [door for door in ROOT.glob("sysid_*/**/__init__.py") if "sysid_nodes" not in str(door)]
    for door in doors:
        package = import_module(".".join(door.parent.relative_to(ROOT).parts))
        for name in getattr(package, "__all__", ()) if hasattr(package, "__getattr__") else ():
            assert not (door.parent / f"{name}.py").exists(), f"{door}: {name}"
    files = [f for part in ("sysid_*", "test", "benchmarks") for f in ROOT.glob(f"{part}/**/*.py")]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGES):
                module = import_module(str(node.module))
                for name in (alias.name for alias in node.names):
                    known = hasattr(module, name) or find_spec(f"{module.__name__}.{name}")
                    assert known, (
                        f"{file.relative_to(ROOT)}:{node.lineno}: {module.__name__}.{name}"
                    )
