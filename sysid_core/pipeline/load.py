# SPDX-License-Identifier: Apache-2.0
"""Drive gains and the known load that they were found by, as data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm import LoadedIdentification


def load_dict(found: LoadedIdentification) -> dict[str, object]:
    """Gains and load, for result.json."""
    from sysid_core.estimation.payload import summarise_payload

    load = summarise_payload(found.payload)
    return {
        "drive_gains": {
            joint: {"gain": float(gain), "sd": float(sd)}
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        },
        "load": {
            "mass": load.mass,
            "com": load.com.tolist(),
            "com_sd": load.com_sd.tolist(),
            "inertia": load.inertia.tolist(),
            "inertia_sd": load.inertia_sd.tolist(),
        },
    }


def load_sentences(found: LoadedIdentification) -> tuple[str, ...]:
    """Gains and load in words."""
    from sysid_core.estimation.payload import summarise_payload

    load = summarise_payload(found.payload)
    gains = ", ".join(
        f"{joint} {gain:.4g} ± {sd:.2g}"
        for joint, gain, sd in zip(
            found.identification.model.joint_names, found.gains.gains, found.gains.sd, strict=True
        )
    )
    com = ", ".join(f"{c:.3f} ± {sd:.3f}" for c, sd in zip(load.com, load.com_sd, strict=True))
    return (
        f"drive gains [N m per unit of effort]: {gains}",
        f"the load's centre of mass [m]: {com}",
    )
