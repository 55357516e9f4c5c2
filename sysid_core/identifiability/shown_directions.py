# SPDX-License-Identifier: Apache-2.0
r"""How much of what motion can show of a robot at all is shown by given data.

The regressor at random states, `S`, spans everything that can be seen. Some of its directions are
weak by the robot's build: the singular values of a leg's `S` spread over five decades, so that no
data reach its rank at a fixed tolerance. Data W are therefore measured against S direction by
direction: singular values of `W R_S^{-1}` with `S = Q R_S` are what W shows over what vigorous
motion shows, whatever base parameters or units are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.robot import Array

EXCITED = 1e-3  # of what vigorous motion shows, both relative to the best direction
_SAME = 0.3  # of the largest share: a parameter below it isn't named in a direction

_WORDS = {
    "m": "mass",
    "mx": "first moment m c_x",
    "my": "first moment m c_y",
    "mz": "first moment m c_z",
    "Ixx": "moment of inertia I_xx",
    "Iyy": "moment of inertia I_yy",
    "Izz": "moment of inertia I_zz",
    "Ixy": "product of inertia I_xy",
    "Ixz": "product of inertia I_xz",
    "Iyz": "product of inertia I_yz",
    "F_c": "Coulomb friction",
    "F_v": "viscous friction",
    "I_a": "drive inertia",
    "beta": "torque offset",
}


@dataclass(frozen=True, eq=False)
class ShownDirections:
    """What data show of b base parameters, direction by direction, strongest first.

    Attributes:
        names: Names of the base parameters, shape (b,).
        ratios: What the data show over what vigorous motion shows, 1 for the best, shape (b,).
        shares: Columns: torque that each base parameter has in a direction under vigorous motion,
            shape (b, b).
        alone: What the data show of each base parameter if all others were known, over what
            vigorous motion shows, as `ratios`; shape (b,).
    """

    names: tuple[str, ...]
    ratios: Array
    shares: Array
    alone: Array

    @property
    def rank(self) -> int:
        """Number of excited directions."""
        return int(np.sum(self.ratios > EXCITED))

    @property
    def condition_number(self) -> float:
        """Strongest over weakest direction; infinite where one isn't shown at all."""
        return float(1.0 / self.ratios[-1]) if self.ratios[-1] > 0.0 else float("inf")

    def unexcited(self, limit: int = 6) -> tuple[str, ...]:
        """Sentences: parameters that no torque depends on, then combinations, weakest first."""
        unexcited = self.alone <= EXCITED
        out = (
            [f"Not excited at all: {_listed(self.names, unexcited)}."] if np.any(unexcited) else []
        )
        weak = np.flatnonzero(self.ratios <= EXCITED)[::-1]
        share = np.abs(self.shares[:, weak])
        mixed = np.max(np.where(unexcited[:, None], 0.0, share), axis=0) > np.max(
            np.where(unexcited[:, None], share, 0.0), axis=0
        )
        for i in weak[mixed][:limit]:
            size = np.where(unexcited, 0.0, np.abs(self.shares[:, i]))
            top = [k for k in np.argsort(size)[::-1][:3] if size[k] > _SAME * size.max()]
            out.append(
                f"Hardly excited: {', against '.join(in_words(self.names[k]) for k in top)}"
                f" ({self.ratios[i]:.1g} of what vigorous motion shows)."
            )
        if np.sum(mixed) > limit:
            out.append(f"{np.sum(mixed) - limit} further combinations are hardly excited.")
        return tuple(out)


def _listed(names: tuple[str, ...], unexcited: NDArray[np.bool_]) -> str:
    """`m, Ixx of shin; F_c of knee`."""
    by_owner: dict[str, list[str]] = {}
    for name in np.array(names)[unexcited].tolist():
        owner, _, symbol = name.rpartition(".")
        by_owner.setdefault(owner, []).append(symbol)
    return "; ".join(f"{', '.join(symbols)} of {owner}" for owner, symbols in by_owner.items())


def in_words(parameter: str) -> str:
    """`shin.Ixx` as "moment of inertia I_xx of shin"."""
    owner, _, symbol = parameter.rpartition(".")
    return f"{_WORDS[symbol]} of {owner}" if symbol in _WORDS else parameter


def shown_directions(base: BaseParameters, rows: Array, structure: Array) -> ShownDirections:
    """Measure data against vigorous motion.

    Args:
        base: Base parameters of the structure, b of them among p.
        rows: Regressor of the data, or its triangular factor, shape (m, p).
        structure: `structural_rows`, shape (s, p).
    """
    R_S: Array = np.asarray(np.linalg.qr(base.base_regressor(structure), mode="r"))
    R_W: Array = np.asarray(np.linalg.qr(base.base_regressor(rows), mode="r"))
    X = scipy.linalg.solve_triangular(R_S, R_W.T, trans="T").T
    _, s, V_T = np.linalg.svd(X, full_matrices=True)
    ratios = np.zeros(base.rank)
    ratios[: len(s)] = s / max(float(s[0]), 1e-300)
    change = scipy.linalg.solve_triangular(R_S, V_T.T)  # of the parameters, along each direction
    size = np.linalg.norm(R_S, axis=0)
    alone = np.linalg.norm(R_W, axis=0) / size / max(float(s[0]), 1e-300)
    return ShownDirections(base.base_names, ratios, change * size[:, None], alone)
