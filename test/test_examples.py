# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings run, and arrays have the shapes that docstrings promise."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_core import estimation, robot
from sysid_core.estimation import fit as fitting
from sysid_core.estimation.fit.regression import compress, solve_compressed
from sysid_core.estimation.loaded_arm.carried_body import payload_torque_regressor
from sysid_core.estimation.payload.ball_prior import ball_prior
from sysid_core.estimation.payload.data import dynamism
from sysid_core.estimation.payload_map.misfit import white_noise_sd
from sysid_core.estimation.payload_map.motion_error import regressor_derivatives
from sysid_core.identifiability import rpna
from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain
from sysid_core.planning import Trajectory
from sysid_core.planning.transfer import straight_move
from sysid_core.robot import loops
from sysid_core.robot.inertia import consistency_margin, inertia_matrix_from_pi
from sysid_core.signals.timing import quantisation

CORE = Path(__file__).resolve().parent.parent / "sysid_core"
WITH_EXAMPLES = sorted(
    ".".join(("sysid_core", *file.relative_to(CORE).with_suffix("").parts))
    for file in CORE.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)
assert len(WITH_EXAMPLES) >= 12


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_of_docstrings_run(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert done.attempted and not done.failed


# ---- shapes

Dims = dict[str, Any]


def shapes_in(text: str) -> list[tuple[str, ...]]:
    """Shapes that a text names: `(K, n, 10 N)`."""
    found = []
    for match in re.finditer(r"\(((?:[^()]|\([^()]*\))*)\)", text):
        parts = tuple(p.strip() for p in match[1].replace("…", "...").split(",") if p.strip())
        if parts and all(
            re.fullmatch(r"\.\.\.|[A-Za-z]\w*|[\d]+( ?\w+)?( \+ .*)?", p) for p in parts
        ):
            found.append(parts)
    return found


def matches(shape: tuple[str, ...], actual: tuple[int, ...], dims: Dims) -> bool:
    """True if an array has a documented shape; unknown letters are bound."""
    if shape[0] == "...":
        n = len(actual) - len(shape) + 1
        if n < 0 or dims.setdefault("...", actual[:n]) != actual[:n]:
            return False
        shape, actual = shape[1:], actual[n:]
    if len(shape) != len(actual):
        return False
    for name, size in zip(shape, actual, strict=True):
        if name.isidentifier():
            if dims.setdefault(name, size) != size:
                return False
        elif eval(re.sub(r"(\d) ?([A-Za-z])", r"\1 * \2", name), {}, dims) != size:
            return False
    return True


@cache
def arm() -> robot.RobotModel:
    return robot.RobotModel.from_urdf("panda")


@cache
def leg() -> loops.ClosedChain:
    return loops.load_closed_chain("own-leg")


@cache
def motion() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return arm().random_states(5, np.random.default_rng(0))


@cache
def leg_motion() -> loops.ConstrainedMotion:
    q_a = leg().actuated_home + 0.05 * np.random.default_rng(1).normal(size=(4, leg().n_actuated))
    return leg().motion(q_a, 0.1 * q_a, 0.2 * q_a)


def of_leg() -> Dims:
    chain = leg()
    return {
        "K": 4, "n": chain.n, "n_a": chain.n_actuated, "n_c": chain.n_equations,
        "n_bodies": chain.model.n_bodies, "N": chain.model.n_bodies, "d": chain.n_actuated,
    }  # fmt: skip


def of_arm() -> Dims:
    model = arm()
    return {"K": 5, "n": model.nv, "nv": model.nv, "nq": model.pin_model.nq, "N": model.n_bodies,
            "n_bodies": model.n_bodies}  # fmt: skip


RNG = np.random.default_rng(3)
BODIES = robot.pi_from_mass_com_inertia(
    np.full((2, 3), 1.5), RNG.normal(size=(2, 3, 3)) * 0.1, np.broadcast_to(np.eye(3), (2, 3, 3, 3))
)
BATCH: Dims = {"...": (2, 3)}
X = np.eye(4)
CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], Callable[[], Dims]]] = [
    (consistency_margin, lambda: (BODIES,), lambda: dict(BATCH)),
    (robot.is_physically_consistent, lambda: (BODIES,), lambda: dict(BATCH)),
    (inertia_matrix_from_pi, lambda: (BODIES,), lambda: dict(BATCH)),
    (robot.mass_com_inertia_from_pi, lambda: (BODIES,), lambda: dict(BATCH)),
    (robot.pseudo_inertia_from_pi, lambda: (BODIES,), lambda: dict(BATCH)),
    (robot.skew, lambda: (BODIES[..., 1:4],), lambda: dict(BATCH)),
    (robot.wrench_regressor, lambda: tuple(RNG.normal(size=(3, 2, 3, 3))), lambda: dict(BATCH)),
    (robot.parameter_transform, lambda: (X,), dict),
    (robot.transform_pi, lambda: (X, BODIES), lambda: dict(BATCH)),
    (robot.pi_from_pseudo_inertia, lambda: (robot.pseudo_inertia_from_pi(BODIES),), lambda: dict(BATCH)),
    (robot.RobotModel.gravity_of_mount, lambda: ((0.1, 0.2, 0.3),), dict),
    (robot.RobotModel.torque_regressor, lambda: (arm(), *motion()), of_arm),
    (robot.RobotModel.frame_motion_sensitivity, lambda: (arm(), "panda_hand", *motion()), of_arm),
    (loops.ClosedChain.actuation_map, lambda: (leg(), leg_motion().q), of_leg),
    (loops.ClosedChain.actuated_inertia, lambda: (leg(),), of_leg),
    (loops.ClosedChain.assemble, lambda: (leg(), leg_motion().q[:, leg().actuated_columns]), of_leg),
    (loops.ClosedChain.torques, lambda: (leg(), leg_motion()), of_leg),
    (loops.ClosedChain.loop_residual, lambda: (leg(), leg_motion().q), of_leg),
    (loops.ClosedChain.loop_jacobian, lambda: (leg(), leg_motion().q), of_leg),
    (loops.ClosedChain.passive_condition, lambda: (leg(), leg_motion().q), of_leg),
    (loops.ClosedChain.drive_regressor, lambda: (leg(), leg_motion(), leg().actuated), of_leg),
    (loops.ClosedChain.regressor, lambda: (leg(), leg_motion(), leg().actuated), of_leg),
    (robot.RobotModel.random_states, lambda: (arm(), 5, np.random.default_rng(0)), of_arm),
    (quantisation, lambda: (np.arange(12.0).reshape(6, 2),), lambda: {"n": 2}),
    (solve_compressed, lambda: (np.eye(3), np.ones(3)), lambda: {"p": 3}),
    (ball_prior, lambda: (BODIES[0, 0], 0.3, 0.15), dict),
    (dynamism, lambda: tuple(RNG.normal(size=(4, 7, 3))), lambda: {"...": (7,)}),
    (Trajectory.minimum_jerk, lambda: (np.linspace(0, 1, 4),), lambda: {"...": (4,)}),
    (straight_move, lambda: (np.zeros(2), np.ones(2), 1.0, 50.0), dict),
    (payload_torque_regressor, lambda: (arm(), "panda_hand", *motion()), of_arm),
    (regressor_derivatives, lambda: (np.ones(3),), dict),
    (white_noise_sd, lambda: (RNG.normal(size=(50, 6)),), dict),
]  # fmt: skip


def documented_return(function: Callable[..., Any]) -> list[tuple[str, ...]]:
    """Shapes of what is returned: those of `Returns:`, or the last ones of the first lines."""
    text = inspect.getdoc(function) or ""
    if "Returns:" in text:
        return shapes_in(text.split("Returns:")[1].split("Raises:")[0].split("Examples:")[0])
    first = shapes_in(text.split("\n\n")[0])
    return first[-1:] if not isinstance(function.__annotations__["return"], str) or not (
        function.__annotations__["return"].startswith("tuple")
    ) else first  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments", "dims"), CASES, ids=lambda x: getattr(x, "__name__", "")
)
def test_arrays_have_the_documented_shape(
    function: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], dims: Callable[[], Dims]
) -> None:
    shapes, known = documented_return(function), dims()
    result = function(*arguments())
    arrays = result if isinstance(result, tuple) else (result,)
    assert shapes, "no shape is documented"
    for array, shape in zip(arrays, shapes * len(arrays), strict=False):
        assert matches(shape, np.shape(array), known), (shape, np.shape(array), known)


def attribute_shapes(one: object) -> dict[str, tuple[str, ...]]:
    """Shapes in the `Attributes:` of a class."""
    text = (inspect.getdoc(type(one)) or "").split("Attributes:")[-1]
    out = {}
    for name, description in re.findall(r"^    (\w+): ((?:.|\n(?!    \w+:))*)", text, re.M):
        found = re.search(r"[Ss]hape (\([^)]*\))", description)
        if found and shapes_in(found[1]):
            out[name] = shapes_in(found[1])[0]
    return out


def estimate_of_two() -> estimation.Estimate:
    regression = regression_of_two()
    return fitting.LeastSquares().fit(regression)


def regression_of_two() -> fitting.Regression:
    Y = np.random.default_rng(0).normal(size=(50, 3, 2))
    return fitting.Regression(
        Y=Y, tau=Y @ [0.5, 2.0] + 1e-3, names=("j.F_c", "j.F_v"), units=("N m", "N m s/rad"),
        joints=("a", "b", "c"), bodies=(), prior=np.zeros(2), prior_sd=np.ones(2),
        non_negative=np.ones(2, dtype=bool), structure=np.eye(2),
    )  # fmt: skip


INSTANCES: list[Callable[[], object]] = [
    regression_of_two,
    estimate_of_two,
    leg_motion,
    lambda: compress(regression_of_two()),
    lambda: arm().frame_motion("panda_hand", *motion()),
    lambda: leg().closure_state(leg_motion().q, leg_motion().q[:, leg().actuated_columns]),
    lambda: rpna.structural_identifiability(arm()).base,
    lambda: leg().loops[0].a,
    lambda: leg().attachments[0][0],
    lambda: DrivingAxisChain.from_model(robot.RobotModel.from_urdf("stanford")),
]


@pytest.mark.parametrize("make", INSTANCES)
def test_attributes_have_the_documented_shapes(make: Callable[[], object]) -> None:
    one, dims = make(), {}
    shapes = attribute_shapes(one)
    assert shapes, type(one)
    for name, shape in shapes.items():
        value = getattr(one, name)
        if isinstance(value, np.ndarray):
            assert matches(shape, value.shape, dims), (type(one), name, shape, value.shape, dims)


def test_a_wrong_shape_is_found() -> None:
    assert shapes_in("Shape (K, n, 10 N).") == [("K", "n", "10 N")]
    assert matches(("K", "10 N"), (4, 70), {"N": 7})
    assert not matches(("K", "10 N"), (4, 60), {"N": 7})
    assert not matches(("...", "3"), (2, 4), {})
