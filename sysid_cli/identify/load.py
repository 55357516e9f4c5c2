# SPDX-License-Identifier: Apache-2.0
"""`sysid identify … --loaded`: drive gains by a load of known mass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysid_core.errors import EstimationError

if TYPE_CHECKING:
    from sysid_cli.identify.settings import LoadSettings
    from sysid_core.estimation.loaded_arm import KnownLoad, LoadedIdentification
    from sysid_core.report import Report
    from sysid_core.robot import RobotModel
    from sysid_core.signals import Recording


def known_load(model: RobotModel, settings: LoadSettings) -> KnownLoad | None:
    """What the options say of the load; None where no run carries one.

    Raises:
        EstimationError: Options that don't go together, or no numbers.
    """
    import numpy as np

    from sysid_core.estimation.loaded_arm import KnownLoad

    mass, frame, com = settings.load_mass, settings.load_frame, settings.load_com
    if not settings.loaded:
        if mass or frame or com:
            raise EstimationError(
                "A load is described, but no run carries it.",
                remedy="Give the runs with the load as --loaded RECORDING.",
            )
        return None
    if not mass > 0.0:
        raise EstimationError(
            "The loaded runs need the load's mass.", remedy="Weigh it: --load-mass KG."
        )
    try:
        centre = np.array([float(x) for x in com.split(",")]) if com else None
    except ValueError as err:
        raise EstimationError(
            f"--load-com {com}: that isn't X,Y,Z.", remedy="Give three numbers, in m."
        ) from err
    load = KnownLoad(mass, frame or model.body_names[-1], centre)
    model.frame_id(load.frame)  # refuses an unknown frame before the work begins
    return load


def load_section(report: Report, found: LoadedIdentification, load: KnownLoad) -> None:
    """Tables of gains and load at the end of the report."""
    from sysid_core.estimation.payload import summarise_payload

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
    """The column map with the gains that were found, for the next runs of this robot.

    Args:
        columns: The user's column map, if any.
        loaded: With the gains and their deviations.
        run: Where there was no map, what it says of joints and efforts is written.
        path: Path of the new map.
    """
    from sysid_core.errors import SignalError
    from sysid_core.files import FileKind, read_yaml, write_yaml
    from sysid_core.signals import COLUMNS_SCHEMA

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
