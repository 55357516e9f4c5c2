# SPDX-License-Identifier: Apache-2.0
"""Equations of runs without and with a known load, in the arm, the load, friction and gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.estimation.fit import Regression
from sysid_core.estimation.loaded_arm.known_load import LOAD, KnownLoad
from sysid_core.robot import INERTIAL_NAMES, INERTIAL_UNITS, Array

GAIN = "gain"  # symbol of the drives' gains


def joint_regression(
    parts: tuple[Regression, Regression],
    X_L: Array,
    load: KnownLoad,
    loaded_structure: Array,
    parameters: Array | None,
) -> Regression:
    """Columns: the arm's bodies, the load, friction, and the gains' relative changes.

    Args:
        parts: Equations of the runs without and with load.
        X_L: The load's parameters to those of the bodies, shape (10 N, 10).
        load: What is known of it.
        loaded_structure: Structural rows with the load's weight in the friction, shape (s, p).
        parameters: Parameters of the round before, gains left out; None: gains are fixed in this one.
    """
    first, second = parts
    N, n = first.n_inertial, len(first.joints)
    tau = np.concatenate([part.tau for part in parts])
    Y = np.concatenate([_columns(part.matrix, delta, X_L) for delta, part in enumerate(parts)])
    change = np.zeros((*tau.shape, n))
    if parameters is not None:
        change[:, range(n), range(n)] = -Y @ parameters

    def arranged(inertial: Array, body: Array, rest: Array, last: Array) -> Array:
        return np.concatenate([inertial[:N], body, rest[N:], last])

    natural = np.minimum(first.prior_sd, second.prior_sd)
    no = np.zeros(10 + n, dtype=bool)
    return replace(
        first,
        Y=np.concatenate([Y, change], axis=2),
        tau=tau,
        time=None,
        motion_time=None,
        recordings=_one_after_the_other(first.recordings, second.recordings, first.n_samples),
        names=first.names[:N]
        + tuple(f"{LOAD}.{name}" for name in INERTIAL_NAMES)
        + first.names[N:]
        + tuple(f"{joint}.{GAIN}" for joint in first.joints),
        units=first.units[:N] + INERTIAL_UNITS + first.units[N:] + ("1",) * n,
        bodies=(*first.bodies, LOAD),
        prior=arranged(first.prior, load.prior, first.prior, np.zeros(n)),
        prior_sd=arranged(natural, load.prior_sd, natural, np.ones(n)),
        non_negative=arranged(first.non_negative, no[:10], first.non_negative, no[10:]),
        structure=_structure(first.structure, loaded_structure, X_L, tau),
        starts=_one_after_the_other(first.starts, second.starts, first.n_samples),
    )


def _columns(Y: Array, delta: float, X_L: Array) -> Array:
    """`[Y, delta Y X_L, Phi]` from `[Y, Phi]`."""
    N = len(X_L)
    return np.concatenate([Y[..., :N], delta * Y[..., :N] @ X_L, Y[..., N:]], axis=-1)


def _structure(unloaded: Array, loaded: Array, X_L: Array, tau: Array) -> Array:
    """What ideal motion shows: every gain, too, in torques as these data have them."""
    n = tau.shape[1]
    rows = np.vstack([_columns(unloaded, 0.0, X_L), _columns(loaded, 1.0, X_L)])
    size = np.sqrt(np.mean(tau**2, axis=0) * len(rows))
    return np.block(
        [[rows, np.zeros((len(rows), n))], [np.zeros((n, rows.shape[1])), np.diag(size)]]
    )


def _one_after_the_other(
    first: tuple[int, ...], second: tuple[int, ...], n_first: int
) -> tuple[int, ...]:
    """Samples of two recordings, the second behind the first."""
    return first + tuple(index + n_first for index in second)
