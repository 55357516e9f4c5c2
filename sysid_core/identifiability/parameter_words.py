# SPDX-License-Identifier: Apache-2.0
"""Names of parameters in words."""

from __future__ import annotations

from collections.abc import Sequence

from sysid_core.robot import Array

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


def in_words(parameter: str) -> str:
    """`shin.Ixx` as "moment of inertia I_xx of shin"."""
    owner, _, symbol = parameter.rpartition(".")
    return f"{_WORDS[symbol]} of {owner}" if symbol in _WORDS else parameter


def listed(names: Sequence[str] | Array) -> str:
    """`m, Ixx of shin; F_c of knee`."""
    by_owner: dict[str, list[str]] = {}
    for name in map(str, names):
        owner, _, symbol = name.rpartition(".")
        by_owner.setdefault(owner, []).append(symbol)
    return "; ".join(f"{', '.join(symbols)} of {owner}" for owner, symbols in by_owner.items())
