# SPDX-License-Identifier: Apache-2.0
"""Identification of a leg with the torso free or locked (Wensing, Niemeyer, Slotine 2023, table
6).

The whole robot gallops, and inverse dynamics gives its generalised forces. The parameters of 13
links (10 each) and 12 symmetric rotors (4 each) are estimated by a pseudo-inverse, without a prior.
This is done once for the whole robot (floating torso), and once for a single leg with the same leg
motion and a locked torso. Both results are then used to predict both experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_core.identifiability import NumericalRank
from sysid_core.identifiability.rpna import (
    Identifiability,
    structural_identifiability,
)
from sysid_core.report import Figure, Report
from sysid_core.robot import Array, RobotModel, Rotor
from sysid_studies.quadruped import (
    GEAR_RATIO,
    LEG_JOINTS,
    LEGS,
    Gallop,
    gallop,
    motion_of,
    quadruped,
    single_leg,
)
from sysid_studies.table import StudyTable

LEG = "FL"
ZERO = 1e-6  # [N m or N]: below, an error counts as zero
# Root-mean-square errors of the paper's table 6, by identification.
PAPER_TABLE_6: dict[str, dict[str, tuple[float, float, float]]] = {
    "floating torso": {
        "locked, leg torques": (0.0, 0.0, 0.0),
        "galloping, leg torques": (0.0, 0.0, 0.0),
        "galloping, body torques": (0.0, 0.0, 0.0),
        "galloping, body forces": (0.0, 0.0, 0.0),
    },
    "locked torso": {
        "locked, leg torques": (0.0, 0.0, 0.0),
        "galloping, leg torques": (1.35, 2.39, 0.0),
        "galloping, body torques": (7.40, 20.24, 4.71),
        "galloping, body forces": (16.31, 12.40, 61.73),
    },
}


def parameter_names(model: RobotModel) -> list[str]:
    """Return the names of the parameters: ten per link and four per rotor."""
    names: list[str] = []
    for body in model.body_names:
        kinds = ("m", "mz", "Ixx=Iyy", "Izz") if body.endswith("_rotor") else tuple(range(10))
        names += [f"{body}.{kind}" for kind in kinds]
    return names


def symmetric_rotors(model: RobotModel) -> Array:
    """Return the matrix from the parameters of `parameter_names` to ten parameters per body, shape
    (10 N, p).
    """
    rotor = np.zeros((10, 4))
    rotor[[0, 3, 9], [0, 1, 3]] = 1.0
    rotor[[4, 6], 2] = 1.0
    blocks = [rotor if body.endswith("_rotor") else np.eye(10) for body in model.body_names]
    out = np.zeros((10 * len(blocks), sum(block.shape[1] for block in blocks)))
    column = 0
    for k, block in enumerate(blocks):
        out[10 * k : 10 * k + 10, column : column + block.shape[1]] = block
        column += block.shape[1]
    return out


def true_parameters(model: RobotModel) -> Array:
    """Return the parameters of the model, in the order of `parameter_names`."""
    S = symmetric_rotors(model)
    return np.asarray(np.linalg.lstsq(S, model.pi.ravel(), rcond=None)[0])


def coupling_matrix(model: RobotModel) -> Array:
    r"""Return the matrix from the velocities of the leading joints to those of all joints, for
    models with mimic joints.

    Returns:
        Matrix, shape (nv, m), with m leading joints.
    """
    followers = {mimic.joint: mimic for mimic in model.mimic_joints}
    pin_model = model.pin_model
    columns: dict[int, int] = {}
    for name in model.joint_names:
        if name not in followers:
            joint = pin_model.joints[pin_model.getJointId(name)]
            for k in range(joint.nv):
                columns[joint.idx_v + k] = len(columns)
    G = np.zeros((model.nv, len(columns)))
    for row, column in columns.items():
        G[row, column] = 1.0
    for mimic in followers.values():
        row = pin_model.joints[pin_model.getJointId(mimic.joint)].idx_v
        leader = pin_model.joints[pin_model.getJointId(mimic.leader)].idx_v
        G[row, columns[leader]] = mimic.multiplier
    return G


def regressor(model: RobotModel, motion: Gallop) -> Array:
    """Return the regressor of the generalised forces of torso and leg joints, rotors included; (K
    (6 + 12), p) or (3 K, p).
    """
    Y = model.torque_regressor(*motion_of(model, motion)) @ symmetric_rotors(model)
    return (coupling_matrix(model).T @ Y).reshape(-1, Y.shape[-1])


@dataclass(frozen=True, eq=False)
class Cheetah3Study:
    """Result of the study.

    Attributes:
        errors: RMS errors, in the order of `PAPER_TABLE_6`: abad, hip, knee, or x, y, z of the
            torso.
        ranks: Number of parameters, numerical rank of the regressor, gap of its singular values,
            and structural rank, for each experiment.
        motion: Gallop used for the identification.
        torques: Torques of the leg over the validation gallop, and their prediction with the
            parameters identified on the locked torso, each (K, 3) [N m].
        time: Time of the validation gallop [s].
    """

    errors: dict[str, dict[str, tuple[float, float, float]]]
    ranks: dict[str, tuple[int, int, float, int]]
    motion: Gallop
    torques: tuple[Array, Array]
    time: Array

    @property
    def pattern_matches(self) -> bool:
        """True if the same errors vanish as in the paper, and no others."""
        return all(
            (error < ZERO) == (paper == 0.0)
            for which, rows in self.errors.items()
            for row, values in rows.items()
            for error, paper in zip(values, PAPER_TABLE_6[which][row], strict=True)
        )

    @property
    def is_maximally_exciting(self) -> bool:
        """True if both experiments excite all structurally identifiable parameters."""
        return all(numerical == exact for _, numerical, _, exact in self.ranks.values())

    @property
    def tables(self) -> tuple[StudyTable, ...]:
        """Tables of the errors and the ranks, compared with the paper."""
        return (
            StudyTable(
                "Errors",
                ("identified on", "error in", "here", "paper"),
                tuple(
                    (which, row, _triple(values), _triple(PAPER_TABLE_6[which][row]))
                    for which, rows in self.errors.items()
                    for row, values in rows.items()
                ),
                "RMS errors [N m, N]; legs: ab/ad, hip, knee; body: x forward, y left, z up. The"
                " robot, its parameters and its gait are of our own: the magnitudes differ from the"
                " paper's.",
            ),
            StudyTable(
                "Ranks",
                ("experiment", "parameters", "numerical rank", "gap", "structural rank"),
                tuple((name, *values) for name, values in self.ranks.items()),
            ),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on whether the pattern of errors agrees with the paper."""
        where = "where the paper has them" if self.pattern_matches else "elsewhere than the paper's"
        return (f"The zeros are {where}.",)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers for JSON."""
        return {
            "schema": "robot_sysid/cheetah3/1",
            "pattern_matches": self.pattern_matches,
            "is_maximally_exciting": self.is_maximally_exciting,
            "ranks": {
                name: dict(
                    zip(("parameters", "numerical", "gap", "structural"), values, strict=True)
                )
                for name, values in self.ranks.items()
            },
            "errors": {k: {r: list(v) for r, v in rows.items()} for k, rows in self.errors.items()},
            "paper": {
                k: {r: list(v) for r, v in rows.items()} for k, rows in PAPER_TABLE_6.items()
            },
        }

    def report(self) -> Report:
        """Return a report with the table compared with the paper."""
        report = Report("A leg identified on a free and on a locked torso", "table 6 of the paper")
        report.verdict(self.pattern_matches, "The errors that vanish are the same as in the paper.")
        report.verdict(
            self.is_maximally_exciting,
            "The gallop is maximally exciting: numerical ranks equal the structural ones.",
        )
        for table in self.tables:
            report.table(table.columns, table.rows, table.note)
        report.heading("Gallop of the identification")
        legs = {
            leg: {joint: self.motion.legs[f"{leg}_{joint}"][0] for joint in LEG_JOINTS}
            for leg in LEGS
        }
        report.figure(
            Figure.time_series(self.motion.time, legs, ylabel="angle [rad]"), "Joint angles."
        )
        true, predicted = self.torques
        lines = {
            joint: {"true": true[:, k], "from the locked torso": predicted[:, k]}
            for k, joint in enumerate(LEG_JOINTS)
        }
        report.figure(
            Figure.time_series(self.time, lines, ylabel="torque [N m]"),
            f"Torques of the {LEG} leg in another gallop, and their prediction by parameters"
            " identified on the locked torso: only the knee is correct.",
        )
        return report


def cheetah3_study() -> Cheetah3Study:
    """Identify the leg in one gallop and validate in another."""
    whole, leg = quadruped(), single_leg(LEG)
    first, second = gallop(), gallop(stride=0.46, detail=0.7)
    pi_whole, pi_leg = true_parameters(whole), true_parameters(leg)

    Y_whole = regressor(whole, first)
    Y_leg = regressor(leg, first)
    # Minimum-norm least squares: the pseudo-inverse.
    estimate_whole = _pseudo_inverse(Y_whole, Y_whole @ pi_whole)
    estimate_leg = _pseudo_inverse(Y_leg, Y_leg @ pi_leg)

    names_whole, names_leg = parameter_names(whole), parameter_names(leg)
    of_leg = np.array([names_whole.index(name) for name in names_leg])
    mixed = pi_whole.copy()
    mixed[of_leg] = estimate_leg  # the leg as the bench saw it, within a robot known otherwise

    locked, galloping = regressor(leg, second), regressor(whole, second)
    rows = _leg_rows(whole)
    n = len(second.time)

    def errors(on_bench: Array, on_robot: Array) -> dict[str, tuple[float, float, float]]:
        bench = (locked @ (on_bench - pi_leg)).reshape(n, -1)
        robot = (galloping @ (on_robot - pi_whole)).reshape(n, -1)
        return {
            "locked, leg torques": _rms(bench),
            "galloping, leg torques": _rms(robot[:, rows]),
            "galloping, body torques": _rms(robot[:, 3:6]),
            "galloping, body forces": _rms(robot[:, :3]),
        }

    exact_whole, exact_leg = _structure(whole), _structure(leg)
    ranks = {}
    for name, Y, exact in (
        ("floating torso", Y_whole, exact_whole),
        ("locked torso", Y_leg, exact_leg),
    ):
        numerical = NumericalRank.of(Y)
        ranks[name] = (Y.shape[1], numerical.rank, numerical.gap, exact.n_base_with_rotors or 0)
    return Cheetah3Study(
        errors={
            "floating torso": errors(estimate_whole[of_leg], estimate_whole),
            "locked torso": errors(estimate_leg, mixed),
        },
        ranks=ranks,
        motion=first,
        torques=(
            (galloping @ pi_whole).reshape(n, -1)[:, rows],
            (galloping @ mixed).reshape(n, -1)[:, rows],
        ),
        time=second.time,
    )


def _structure(model: RobotModel) -> Identifiability:
    """Exact identifiability of the same robot, with its rotors modelled as rotors instead of
    bodies.
    """
    rotors = [name for name in model.joint_names if name.endswith("_rotor_joint")]
    driven = [name.removesuffix("_rotor_joint") for name in rotors]
    return structural_identifiability(
        model.with_locked(rotors), rotors=[Rotor(joint, GEAR_RATIO) for joint in driven]
    )


def _pseudo_inverse(Y: Array, tau: Array) -> Array:
    """Minimum-norm least squares of Wensing, Niemeyer and Slotine (2023), eq. (64)."""
    return np.asarray(np.linalg.lstsq(Y, tau, rcond=1e-11)[0])


def _leg_rows(model: RobotModel) -> list[int]:
    leading = [n for n in model.joint_names if not n.endswith("_rotor_joint")]
    columns = [f"{LEG}_{joint}" for joint in LEG_JOINTS]
    return [5 + leading.index(name) for name in columns]  # after the torso's six, itself one name


def _rms(errors: Array) -> tuple[float, float, float]:
    x, y, z = np.sqrt(np.mean(errors**2, axis=0))
    return float(x), float(y), float(z)


def _triple(values: tuple[float, float, float]) -> str:
    return "  ".join("0" if value < ZERO else f"{value:.2f}" for value in values)
