# SPDX-License-Identifier: Apache-2.0
"""Sizes: a file is one concept, a function one thought, a folder can be taken in at a glance."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE, NODES = ROOT / "sysid_core", ROOT / "sysid_nodes"
LONGEST_NODE, LONGEST_NODE_FILE, LONGEST_FUNCTION = 150, 250, 60
LONGEST_FILE, MOST_FILES = 250, 14
# Files that are longer, at most `LONGEST_EVER` lines, and why they are one file.
LONGEST_EVER = 350
LONG_FILES = {
    "one class: its state would have to be shared": (
        "estimation/estimate.py", "estimation/payload/shape_prior.py",
        "estimation/payload_live/online.py", "estimation/payload_live/session.py",
        "estimation/payload_map/running.py", "excitation/execution/executor.py",
        "excitation/execution/rolling_play.py", "excitation/geometry.py", "report/html.py",
        "robot/model.py", "robot/shapes/shape.py", "signals/bags/writer.py",
        "signals/filters/joint_filter.py", "validation/simulated_robot.py",
    ),
    "one method of a paper, equation after equation": (
        "estimation/loaded_arm/payload_from_torques.py",
        "estimation/payload_map/motion_belief.py", "estimation/sequential/identify.py",
        "identifiability/composite_bodies/composite_body.py",
        "identifiability/composite_bodies/single_joint.py", "identifiability/rpna/stages.py",
        "robot/friction.py", "robot/inertia.py",
    ),
    "one pipeline: what follows on what is read in one place": (
        "estimation/fit/consistent_least_squares.py", "excitation/closed_chain/plan.py",
        "pipeline/arm.py", "estimation/arm/equations.py", "report/identification.py",
        "signals/bags/columns.py", "signals/wrench/tare.py",
    ),
    "kinds of one thing beside each other": (
        "estimation/payload/data.py", "excitation/execution/monitor.py", "excitation/trajectory.py",
        "robot/loops/chain.py", "robot/reference.py", "signals/filters/kernels.py",
        "signals/wrench/checks.py", "signals/wrench/sensor.py",
    ),
}  # fmt: skip
# Functions whose body (signature and docstring left out) is longer, and why they are one function.
LONG_FUNCTIONS = {
    "bench/peers/figaroh.py _solver": "a class whose base is an optional package's",
    "excitation/design/plan.py plan_arm_motion": "one search, from candidates to the checked plan",
}


def test_no_folder_is_crowded_and_no_file_is_long() -> None:
    for folder in {file.parent for file in CORE.rglob("*.py")}:
        files = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        assert len(files) <= MOST_FILES, folder
        for file in files:
            lines = len(file.read_text(encoding="utf-8").splitlines())
            long = str(file.relative_to(CORE)) in {f for some in LONG_FILES.values() for f in some}
            most = LONGEST_EVER if long else LONGEST_FILE
            assert lines <= most, f"{file.relative_to(ROOT)}: {lines} lines (see LONG_FILES)"
            assert lines > LONGEST_FILE or not long, f"{file.relative_to(ROOT)} is short by now"


@pytest.mark.parametrize("room", ["test", "benchmarks"])
def test_no_folder_of_tests_and_benchmarks_is_crowded(room: str) -> None:
    for folder in {file.parent for file in (ROOT / room).rglob("*.py")}:
        files = [f for f in folder.glob("*.py") if f.name not in ("__init__.py", "conftest.py")]
        assert len(files) <= MOST_FILES, folder


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its first statement to its end, without signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_function_is_long() -> None:
    wrong = []
    for room in ("sysid_core", "sysid_demos", "sysid_monitor", "sysid_rqt", "benchmarks"):
        for file in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    name, lines = f"{file.relative_to(ROOT / room)} {node.name}", body_lines(node)
                    if lines > LONGEST_FUNCTION and name not in LONG_FUNCTIONS:
                        wrong.append(f"{room}/{name}: {lines} lines")
    assert not wrong


def test_every_node_is_a_page_and_no_folder_of_theirs_is_crowded() -> None:
    wrong = []
    for file in sorted(NODES.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        lines, limit = len(text.splitlines()), LONGEST_NODE_FILE
        if file.parent == NODES:
            limit = LONGEST_NODE
        if lines > limit:
            wrong.append(f"{file.relative_to(ROOT)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                long = (node.end_lineno or 0) - node.lineno + 1
                if long > LONGEST_FUNCTION:
                    wrong.append(f"{file.relative_to(ROOT)} {node.name}: {long} lines")
    for folder in {file.parent for file in NODES.rglob("*.py")}:
        count = len([f for f in folder.glob("*.py") if f.name != "__init__.py"])
        if count > MOST_FILES:
            wrong.append(f"{folder.relative_to(ROOT)}: {count} files")
    assert not wrong
