# SPDX-License-Identifier: Apache-2.0
r"""Identification of the Stanford arm (Lin 1992, section 4): tables I and II, and the final check.

The arm is moved one joint at a time in simulation (recursive Newton-Euler). Its minimal constants
are identified from the last body to the first by algorithm 2, with the paper's postures and
samples. The inverse dynamics from the identified constants alone are then compared with the
simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.identifiability.composite_bodies import MinimalConstants
from sysid_core.report import Report
from sysid_core.robot import Array, RobotModel
from sysid_studies.single_joint import check_postures, composite_inverse_dynamics, single_joint_rows
from sysid_studies.table import StudyTable, report_of_tables

BASE_POSTURE = (0.7, 0.7, 0.0, 0.7, 0.7, 0.7)  # equation (62)
# Of the joint of the body to be identified. Equation (63) lists them the other way round; table I
# has this order.
OTHER_VALUES = (-0.7, -0.6)
SAMPLE_TIMES = (0.2, 0.3, 0.4)  # [s]
SIGMA = 10.0  # [1/s] of the critically damped step

# Table I: u_1 in frame j, by body and posture; the last z is printed -.8264, which makes no unit
# vector: a misprint of -.8624.
PAPER_TABLE_I: dict[int, tuple[tuple[float, float, float], ...]] = {
    2: ((0.7648, -0.6442, 0.0), (0.7648, 0.6442, 0.0), (0.8253, 0.5646, 0.0)),
    3: ((0.7648, 0.0, 0.6442), (0.7648, 0.0, -0.6442)),
    4: ((0.5850, -0.4927, 0.6442), (0.5850, 0.4927, 0.6442), (0.6313, 0.4319, 0.6442)),
    5: ((-0.1159, 0.8624, 0.4927), (-0.8696, 0.0324, 0.4927), (-0.8620, 0.1190, 0.4927)),
    6: ((0.2288, 0.4515, -0.8624), (-0.4060, 0.3022, -0.8624), (-0.3738, 0.3412, -0.8624)),
}
# Table II: what the paper's own least squares found.
PAPER_TABLE_II: dict[str, float] = {
    "m3": 6.4700,
    "k2x": -0.00001,
    "k2y": 2.7400,
    "k3x": 0.0,
    "k3y": 0.0,
    "k3z": -2.7400,
    "k4x": 0.0099,
    "k4y": 0.0058,
    "k5x": 0.0,
    "k5y": -0.1149,
    "k6x": 0.0,
    "k6y": 0.0,
    "U1_33": 1.0144,
    "U2_11-22": 4.3850,
    "U2_33": 4.4053,
    "U2_12": 0.00003,
    "U2_13": 0.0,
    "U2_23": -0.00003,
    "U4_11-22": -0.0235,
    "U4_33": 0.0044,
    "U4_12": -0.00005,
    "U4_13": 0.0,
    "U4_23": 0.0,
    "U5_11-22": 0.0270,
    "U5_33": 0.0277,
    "U5_12": 0.0,
    "U5_13": 0.0,
    "U5_23": 0.0,
    "U6_11-22": 0.0,
    "U6_33": 0.0003,
    "U6_12": 0.0,
    "U6_13": 0.0,
    "U6_23": 0.0,
}


@dataclass(frozen=True, eq=False)
class StanfordStudy:
    """Result of the study.

    Attributes:
        directions: Axis u_1 in frame j by body number (table I), each of shape (postures, 3).
        constants: Identified constants (table II).
        exact: The same constants, computed from the link parameters (lemma 1).
        closing_error: Largest difference between the torques from the constants alone and those of
            recursive Newton-Euler, relative to the largest torque, over random motions.
        n_random: Number of random motions.
    """

    directions: dict[int, Array]
    constants: dict[str, float]
    exact: dict[str, float]
    closing_error: float
    n_random: int

    @property
    def table_i_error(self) -> float:
        """Largest difference from table I of the paper."""
        return max(
            float(np.max(np.abs(rows - np.array(PAPER_TABLE_I[body]))))
            for body, rows in self.directions.items()
        )

    @property
    def table_ii_errors(self) -> dict[str, float]:
        """Differences from table II of the paper, by constant."""
        return {name: self.constants[name] - PAPER_TABLE_II[name] for name in PAPER_TABLE_II}

    @property
    def tables(self) -> tuple[StudyTable, ...]:
        """Tables I and II next to those of the paper."""
        return (
            StudyTable(
                "Table I: axis of joint 1 in the frame of body j",
                ("j", "posture", "here", "paper", "off by"),
                tuple(
                    (body, i, _spaced(row), _spaced(paper), f"{np.abs(row - paper).max():.1e}")
                    for body, rows in self.directions.items()
                    for i, (row, paper) in enumerate(
                        zip(rows, np.array(PAPER_TABLE_I[body]), strict=True), start=1
                    )
                ),
            ),
            StudyTable(
                "Table II: identified inertia constants [kg, kg m, kg m^2]",
                ("constant", "here", "paper", "off by"),
                tuple(
                    (
                        name,
                        f"{round(value, 5) + 0.0:.5f}",
                        f"{PAPER_TABLE_II[name]:.5f}",
                        f"{abs(self.table_ii_errors[name]):.1e}",
                    )
                    for name, value in self.constants.items()
                ),
            ),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on the accuracy of the constants, and on the final check."""
        exact = max(abs(self.constants[name] - self.exact[name]) for name in self.exact)
        worst = max(self.table_ii_errors, key=lambda name: abs(self.table_ii_errors[name]))
        return (
            f"The constants identified here are those of the links (lemma 1) to {exact:.0e}; the"
            f" print differs by {abs(self.table_ii_errors[worst]):.1e} at most, in {worst}.",
            f"Closing check: torques from the {len(self.constants)} constants alone differ from"
            f" recursive Newton-Euler by {self.closing_error:.1e} of the largest torque,"
            f" over {self.n_random} random motions.",
        )

    def report(self) -> Report:
        """Return a report with both tables."""
        title = "Sequential identification of the Stanford arm"
        return report_of_tables(title, "Lin, tables I and II", self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "table_I": {str(body): rows.tolist() for body, rows in self.directions.items()},
            "paper_table_I": {str(body): list(rows) for body, rows in PAPER_TABLE_I.items()},
            "table_I_error": self.table_i_error,
            "constants": self.constants,
            "paper_constants": PAPER_TABLE_II,
            "exact_constants": self.exact,
            "table_II_error": max(map(abs, self.table_ii_errors.values())),
            "closing_check": {"relative_error": self.closing_error, "motions": self.n_random},
        }


def stanford_study(rng: np.random.Generator, n_random: int = 100) -> StanfordStudy:
    """Identify the Stanford arm as the paper does.

    Args:
        rng: Random generator of the motions for the final check.
        n_random: Number of motions in the final check.
    """
    model = RobotModel.from_urdf("stanford")
    minimal = MinimalConstants.of(model)
    directions = {
        body: np.array([minimal.chain.axis_in_body(0, body - 1, q) for q in _postures(body)])
        for body in PAPER_TABLE_I
    }
    values = identify_stanford(model, minimal)
    exact = minimal.values(model.pi)

    q, v, a = rng.uniform(-3.0, 3.0, size=(3, n_random, model.nv))
    torque = model.inverse_dynamics(q, v, a)
    constants = minimal.all_constants(values)
    alone = np.array(
        [
            composite_inverse_dynamics(minimal.chain, constants, *motion)
            for motion in zip(q, v, a, strict=True)
        ]
    )
    return StanfordStudy(
        directions=directions,
        constants=dict(zip(minimal.names, values.tolist(), strict=True)),
        exact=dict(zip(minimal.names, exact.tolist(), strict=True)),
        closing_error=float(np.max(np.abs(alone - torque)) / np.max(np.abs(torque))),
        n_random=n_random,
    )


def identify_stanford(model: RobotModel, minimal: MinimalConstants) -> Array:
    """Identify the arm by algorithm 2 with the paper's postures: bodies 6 to 2 by rotating joint 1,
    the others directly.

    Returns:
        The minimal constants, shape (33,).
    """
    values = np.zeros(minimal.rank)
    for body in (6, 5, 4, 3, 2):
        names = check_postures(minimal, 0, body - 1, _postures(body))
        _solve(model, minimal, values, 0, body - 1, _postures(body), SAMPLE_TIMES, names)
        if body == 2:  # joint 2 is perpendicular to joint 1, which can't show U2_33
            _solve(model, minimal, values, 1, 1, [BASE_POSTURE], SAMPLE_TIMES[:1], ["U2_33"])
    _solve(model, minimal, values, 0, 0, [BASE_POSTURE], SAMPLE_TIMES[:1], ["U1_33"])
    return values


def _postures(body: int) -> list[tuple[float, ...]]:
    """Postures of equations (62) and (63): the base posture and the others for one body."""
    out: list[tuple[float, ...]] = [BASE_POSTURE]
    joint, others = (1, OTHER_VALUES[:1]) if body == 3 else (body - 1, OTHER_VALUES)
    for value in others:
        posture = list(BASE_POSTURE)
        posture[joint] = value
        out.append(tuple(posture))
    return out


def _damped_step(t: Array, start: float) -> tuple[Array, Array, Array]:
    """Motion of equations (64)-(66): position, velocity and acceleration of the moving joint."""
    size, decay = np.pi / 6, np.exp(-SIGMA * t)
    q = size * (1.0 - (1.0 + SIGMA * t) * decay) + start
    return q, size * SIGMA**2 * t * decay, size * (1.0 - SIGMA * t) * SIGMA**2 * decay


def _solve(
    model: RobotModel,
    minimal: MinimalConstants,
    values: Array,
    moving: int,
    observed: int,
    postures: Sequence[Sequence[float]],
    times: Sequence[float],
    names: Sequence[str],
) -> None:
    """Solve one least-squares problem of algorithm 2; the constants `names` are written into
    `values`.
    """
    rows, torques = [], []
    for posture in postures:
        q, v, a = _damped_step(np.array(times), posture[moving])
        rows.append(single_joint_rows(minimal, posture, moving, observed, q, v, a))
        motion = np.zeros((3, len(times), model.nv))
        motion[0] = posture
        motion[:, :, moving] = q, v, a
        torques.append(model.inverse_dynamics(*motion)[:, observed])
    A, tau = np.concatenate(rows), np.concatenate(torques)
    unknown = [minimal.names.index(name) for name in names]
    known = values.copy()
    known[unknown] = 0.0
    solution, _, rank, _ = np.linalg.lstsq(A[:, unknown], tau - A @ known, rcond=None)
    if rank < len(unknown):
        raise EstimationError(
            f"Moving joint {moving + 1} determines {rank} of {len(unknown)} constants of body"
            f" {observed + 1}.",
            remedy="Add postures.",
        )
    values[unknown] = solution


def _spaced(row: Array) -> str:
    return " ".join(f"{round(x, 4) + 0.0:.4f}" for x in row)
