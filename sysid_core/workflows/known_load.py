# SPDX-License-Identifier: Apache-2.0
"""Drive gains and the known load from which they were determined, for result, report and column
map.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_core.errors import SignalError
from sysid_core.estimation.loaded_arm import KnownLoad, LoadedIdentification
from sysid_core.estimation.payload import summarise_payload
from sysid_core.files import FileKind, read_yaml, write_yaml
from sysid_core.report import Report
from sysid_core.signals import COLUMNS_SCHEMA, Recording


def load_dict(found: LoadedIdentification) -> dict[str, object]:
    """Gains and load as plain data for result.json."""
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


def load_section(report: Report, found: LoadedIdentification, load: KnownLoad) -> None:
    """Report section with gains and load."""
    report.heading("Drive gains, by the known load")
    report.table(
        ["joint", "gain", "standard deviation"],
        [
            [joint, float(gain), float(sd)]
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        ],
        f"Joint torque per unit of effort [N m/A for currents], from {load.mass:g} kg at"
        f" {load.frame}; the deviations of all parameters above include those of the gains",
    )
    summary = summarise_payload(found.payload)
    rows = [
        [f"centre of mass {axis}", float(c), float(sd), "m"]
        for axis, c, sd in zip("xyz", summary.com, summary.com_sd, strict=True)
    ]
    rows += [
        [
            f"I{a}{b} about the centre of mass",
            float(summary.inertia[i, j]),
            float(summary.inertia_sd[i, j]),
            "kg m²",
        ]
        for i, a in enumerate("xyz")
        for j, b in enumerate("xyz")
        if i <= j
    ]
    report.table(["load", "value", "standard deviation", "unit"], rows, f"in {load.frame}")


def write_columns(
    columns: Path | None, loaded: LoadedIdentification, run: Recording, path: Path
) -> None:
    """Write a column map with the estimated gains, for further recordings of this robot.

    Args:
        columns: The user's column map, if any.
        loaded: With the gains and their deviations.
        run: Where there was no map, what it says of joints and efforts is written.
        path: Path of the new map.
    """
    drives = loaded.identification.friction.drives
    if columns is None:
        raw: dict[str, Any] = {
            "schema": COLUMNS_SCHEMA,
            "joints": list(drives.joint_names),
            "effort": {"kind": run.joints.effort_kind.value},
        }
    else:
        raw = read_yaml(columns, FileKind("column map", "Check the path.", SignalError))
    section = dict(raw.get("drives") or {})
    old = section.get("gain")
    found = dict(zip(drives.joint_names, drives.gains.tolist(), strict=True))
    before = old if isinstance(old, list) else [1.0] * len(raw["joints"])
    section["gain"] = [
        found.get(joint, gain) for joint, gain in zip(raw["joints"], before, strict=True)
    ]
    sd = dict(zip(drives.joint_names, (loaded.gains.sd / drives.gains).tolist(), strict=True))
    section["gain_sd"] = [min(abs(sd.get(joint, 0.0)), 0.99) for joint in raw["joints"]]
    section["source"] = f"sysid identify --loaded, {loaded.identification.estimate.source}"
    head = "# With the drive gains that `sysid identify --loaded` found.\n"
    write_yaml(path, {**raw, "drives": section}, head=head)
