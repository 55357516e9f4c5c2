"""The arrows of the design: layers, rooms, and what a user is shown."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "sysid_core"
ROOMS = (
    "robot", "identifiability", "excitation", "signals", "estimation", "validation", "report",
    "studies", "cli",
)  # fmt: skip
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


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "sysid_core" and parts[1] in ROOMS else None


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sorted((CORE / room).rglob("*.py"))
        for module in sorted(imports_of(file))
        if room_of(module) is not None and room_of(module) not in allowed
    ]
    assert not wrong


def test_the_core_knows_no_ros_and_only_the_cli_a_command_line_library() -> None:
    wrong = []
    for file in sorted(CORE.rglob("*.py")):
        for module in imports_of(file):
            top = module.split(".")[0]
            if top in ROS or top == "sysid_nodes":
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
            if top in ("typer", "click") and file.parent.name != "cli":
                wrong.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_only_the_studies_and_the_demos_know_the_papers_objects() -> None:
    users = [
        file.name
        for file in (ROOT / "sysid_nodes").glob("*.py")
        if any(m.startswith("sysid_core.studies") for m in imports_of(file))
    ]
    assert all(name.startswith("demo") for name in users)


def test_every_room_declares_its_public_api_in_order() -> None:
    for room in ROOMS:
        tree = ast.parse((CORE / room / "__init__.py").read_text(encoding="utf-8"))
        declared = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ]
        assert len(declared) == 1, room
        assert len(declared[0]) == len(set(declared[0])), room


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
