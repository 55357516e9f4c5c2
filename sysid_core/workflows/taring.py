# SPDX-License-Identifier: Apache-2.0
"""Bias, tool and delay of a force-torque sensor from static postures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import Array
from sysid_core.signals import WrenchColumns, WrenchStream
from sysid_core.signals.wrench import (
    ClockOffset,
    FullCalibration,
    SensorCalibration,
    StaticPostures,
    WrenchCheck,
    WrenchSign,
)
from sysid_core.workflows.settings import TareSettings
from sysid_core.workflows.weighing import open_wrench

_MOST_DELAY_S = 0.1  # of a sensor: clocks that are further apart are to be set, not calibrated


@dataclass(frozen=True, eq=False)
class Tared:
    """Calibration of a force-torque sensor from a recording.

    Attributes:
        calibration: Calibration: bias, noise, tool and delay.
        full: Calibration of gains, mounting, gravity and drift; None: not requested.
        kept: Stored calibration whose bias was estimated again; None: new calibration.
        change: Change of the bias since the stored calibration, shape (6,) [N, N m]; None: no
            stored calibration.
        remarks: Assumptions and findings, one sentence each.
        no_delay: Reason why the delay of the wrench is unknown; empty if it is known or was not
            requested.
    """

    calibration: SensorCalibration
    full: FullCalibration | None = None
    kept: SensorCalibration | None = None
    change: Array | None = None
    remarks: tuple[str, ...] = ()
    no_delay: str = ""

    @property
    def hours(self) -> float:
        """Time since the stored calibration [h]; NaN if unknown."""
        assert self.kept is not None
        return self.kept.age_s(self.calibration.stamp_ns) / 3600.0

    @property
    def warmer(self) -> float:
        """Temperature minus that of the stored calibration [°C]; NaN if unknown."""
        assert self.kept is not None
        return self.calibration.temperature - self.kept.temperature

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as plain numbers, for comparisons."""
        out = tare_dict(self.calibration)
        if self.change is not None:
            out |= {
                "change": self.change.tolist(),
                "hours_since": self.hours if np.isfinite(self.hours) else None,
                "warmer": self.warmer if np.isfinite(self.warmer) else None,
            }
        return out if self.full is None else out | _full_dict(self.full)

    @staticmethod
    def from_file(settings: TareSettings, progress: Progress = silent) -> Tared:
        """Estimate the bias of the sensor and the load from static postures, and raise an error if the
        mounting is wrong.

        Args:
            settings: Settings of recording, robot and sensor.
            progress: Function called with each step.

        Raises:
            SysIdError: There are too few postures, or the result is implausible.
        """
        progress(Step.READING)
        run, model, frame, still, remarks = open_wrench(
            settings.recording, settings.sensor, settings.table, settings.sensor_frame, tared=True
        )
        remarks = (*run.notes, *remarks)
        if run.wrench is not None and not still:
            require_sound_wrench(
                run.wrench,
                force_range=settings.force_range or None,
                torque_range=settings.torque_range or None,
            )
        postures = (StaticPostures.of_rows if still else StaticPostures.find)(run, model, frame)
        progress(Step.FITTING)
        if settings.check is not None:
            kept = SensorCalibration.load(settings.check)
            found, change = postures.retare(kept, temperature=settings.temperature)
            found = replace(found, stamp_ns=_stamp_ns(settings, postures))
            return Tared(found, kept=kept, change=change, remarks=remarks)
        found, full = _fit(settings, postures, frame)
        progress(Step.DELAY)
        no_delay = ""
        try:
            find = ClockOffset.of_recording
            clock = None if still else find(run, model, frame, max_offset_s=_MOST_DELAY_S)
            if clock is not None and clock.is_known:
                found = replace(found, delay=(clock.offset_s, clock.offset_sd))
        except SignalError as err:
            no_delay = str(err)
        if settings.dress_pack:
            found = postures.with_dress_pack(found)
        elif settings.tool:
            found = found.with_load_as_tool()
        return Tared(found, full, remarks=remarks, no_delay=no_delay)


def require_sound_wrench(
    stream: WrenchStream,
    *,
    force_range: float | None = None,
    torque_range: float | None = None,
) -> None:
    """Raise an error if a wrench stream has faults; arguments as in `WrenchCheck.faults`.

    Raises:
        SignalError: The stream has faults; the message lists them, and `data["faults"]` contains
            them.
    """
    faults = WrenchCheck(stream).faults(force_range=force_range, torque_range=torque_range)
    if faults:
        raise SignalError(
            " ".join(fault.text for fault in faults),
            remedy=" ".join(fault.remedy for fault in faults),
            faults=faults,
        )


def _fit(
    settings: TareSettings, postures: StaticPostures, frame: str
) -> tuple[SensorCalibration, FullCalibration | None]:
    """Bias and load; with `--calibrate` also gains, mounting and drift."""
    mass, source = settings.expected_mass or None, str(settings.recording)
    found = StaticPostures.tare(
        postures.wrench,
        postures.gravity_S,
        R_WS=postures.R_WS,
        frame=frame,
        noise=postures.noise,
        expected_mass=mass,
        allow_bare=settings.bare,
        sign=WrenchSign.named(settings.sensor.wrench_sign, "The wrench's sign", SignalError),
        source=source,
    )
    full = None
    if settings.calibrate:
        sign = found.matrix[0, 0]
        full = FullCalibration.of(
            sign * postures.wrench,
            postures.gravity_S,
            postures.R_WS,
            postures.start_ns * 1e-9,
            known_mass=mass,
            frame=frame,
            noise=postures.noise,
            source=source,
        )
        found = full.calibration if sign > 0 else full.calibration.of_opposite_sign()
    notes, stamp_ns = (*found.notes, *postures.notes), _stamp_ns(settings, postures)
    found = replace(found, stamp_ns=stamp_ns, temperature=settings.temperature, notes=notes)
    return found, full


def _stamp_ns(settings: TareSettings, postures: StaticPostures) -> int:
    """Stamp of the last posture [ns]; 0 (unknown) for a table, whose stamps begin at 0."""
    is_table = settings.recording.suffix.lower() in WrenchColumns.ENDINGS
    return 0 if is_table else int(postures.start_ns.max())


def tare_dict(calibration: SensorCalibration) -> dict[str, object]:
    """Return the calibration as plain numbers for comparisons."""
    mass, mass_sd = calibration.tare_mass
    com, com_sd = calibration.tare_com
    delay, delay_sd = calibration.delay
    return {
        "schema": "robot_sysid/tare/1",
        "frame": calibration.frame,
        "n_postures": calibration.n_postures,
        "bias": calibration.bias.tolist(),
        "bias_sd": calibration.bias_sd.tolist(),
        "noise": calibration.noise.tolist(),
        "mass": mass,
        "mass_sd": mass_sd,
        "com": com.tolist() if np.all(np.isfinite(com)) else None,
        "com_sd": com_sd.tolist() if np.all(np.isfinite(com_sd)) else None,
        "misalignment_deg": float(np.rad2deg(calibration.misalignment))
        if np.isfinite(calibration.misalignment)
        else None,
        "delay": delay if np.isfinite(delay_sd) else None,
        "delay_sd": delay_sd if np.isfinite(delay_sd) else None,
        "tool_mass": float(calibration.tool_pi[0]),
    }


def _full_dict(full: FullCalibration) -> dict[str, object]:
    """Entries that `--calibrate` adds to the result."""
    arrays = ("gain", "gain_sd", "mounting", "mounting_sd", "tilt", "tilt_sd", "drift", "drift_sd")
    found: dict[str, object] = {name: getattr(full, name).tolist() for name in arrays}
    return found | {"confounded": list(full.confounded)}
