# SPDX-License-Identifier: Apache-2.0
"""Payload estimation from any motion, without marks, plan or tare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import CompressedWrenches, PayloadData
from sysid_core.estimation.payload_live.lightest_part import PartTare
from sysid_core.estimation.payload_live.marks import marked_spans
from sysid_core.estimation.payload_live.online import (
    NOTICED_S,
    ChangeKind,
    OnlinePayload,
    PayloadChange,
)
from sysid_core.estimation.payload_live.samples import (
    FEWEST_POSTURES,
    Samples,
    motion_of,
    nothing_known,
    within,
)
from sysid_core.estimation.payload_live.session import LoadChange, require_wrench
from sysid_core.estimation.payload_live.weighing import MASS_LIMIT, Weighing
from sysid_core.estimation.payload_map import PayloadMAP, SensorModel
from sysid_core.reasons import Reason
from sysid_core.robot import Array, PoseRobot, RobotModel
from sysid_core.robot.shapes import Shape
from sysid_core.signals import Recording
from sysid_core.signals.wrench import (
    SensorCalibration,
    StaticPostures,
    WrenchAxes,
    WrenchConvention,
    WrenchSign,
)

_LATEST = (0.2, 0.5)  # [s] of delays: usual ones, and those of separate clocks
_DELAY_STEP = 0.02  # [s]
_ONLY_GRAVITY = (
    "The accelerations explain the wrench worse than gravity alone: only gravity was used. Check stamps and"
    " noise of the positions."
)
_FAR = 0.5  # [m] of a centre of mass from the sensor: farther, no controller is sent it by default


def weigh_motion(
    recording: Recording,
    model: RobotModel,
    frame: str,
    shape: Shape | None = None,
    *,
    sensor: SensorModel | None = None,
    calibration: SensorCalibration | None = None,
    sign: WrenchSign = WrenchSign.AUTO,
    axes: WrenchAxes = WrenchAxes.AUTO,
    clock: bool = True,
    still: bool = False,
) -> Weighing:
    """Estimate the payload carried throughout a recording.

    If the recording has marks, the sensor is tared in the marked postures, and the payload is
    estimated from the marked motion. Without a tare, sign and axes of the wrench are estimated if
    they are not declared; the bias (the part that does not rotate with gravity) is estimated
    together with the load. If the load changes, the lightest part of an untared recording is the
    tare, and only the samples after the last change are used or, if nothing is held afterwards, those of the
    preceding load.

    Args:
        recording: Joint states and wrench, over any part of a run; marks are optional.
        model: Robot model.
        frame: Name of the sensor's frame.
        shape: Shape of the object, in the sensor frame; None: unknown.
        sensor: Error magnitudes of the sensor; None: those of an ordinary sensor.
        calibration: Calibration from an earlier tare; None: tare in marked postures, if any.
        sign: Sign of the wrench; `AUTO`: estimated.
        axes: Axes of the wrench; `AUTO`: estimated.
        clock: True to estimate an offset between the stamps of joints and wrench.
        still: True if every joint state is a static posture, with the wrench of the same stamp.

    Raises:
        EstimationError: There is no wrench, there are too few postures, or the sensor carries no
            load.
    """
    require_wrench(recording)
    fresh = sensor or SensorModel()
    tares, motions = marked_spans(recording)
    if calibration is None and tares and motions:
        calibration = _tared(recording, model, frame, tares)
    run = within(recording, motions) if motions else recording
    known = calibration or nothing_known(frame)
    samples, notes = Samples.of(run, model, frame, known, still=still)
    described = WrenchConvention()  # a tare has found sign and axes
    if calibration is None:
        samples, described = _described(samples, fresh, sign, axes)
        errors, notes = fresh.untared, [*notes, *described.notes]
    else:
        errors = fresh.tared(known, known.age_s(int(samples.stamps_ns[0])))
    if clock and not still:
        samples = samples.on_one_clock(calibration)
        notes += samples.run.notes
    part = None if calibration or still else PartTare.of(samples.data, frame)
    if part is not None:
        known = part.calibration
        errors = replace(fresh.tared(known, part.age_s), gain=fresh.untared.gain)
        samples, notes = samples.without(known), [*notes, part.note]
    held, running = samples.minus(known.tool_pi), None
    changes: tuple[LoadChange, ...] = ()
    if part is not None or (calibration is not None and not still):
        make = partial(OnlinePayload, shape, sensor=errors)
        held, changes, running = _of_one_load(samples, known.tool_pi, make)
        if held.stamps_ns[-1] < samples.stamps_ns[-1]:
            notes.append("Nothing is held at the end: the load that was held before was estimated.")
    notes += [_ONLY_GRAVITY] if held.belief is None and not still else []
    convention = described
    if part is not None and len(held.data) > 1:
        convention = WrenchConvention.find(
            held.data.wrench,
            [held.motion],
            bias=[errors.bias],
            sign=WrenchSign.SENSOR_ON_LOAD,
            axes=WrenchAxes.SENSOR,
            time=held.data.time,
        )
    estimate = PayloadMAP(shape, sensor=errors).fit(held.data, held.belief)
    estimate, doubts = _doubted(estimate, convention)
    data, bias = held.data, None if part is None else part.calibration.bias
    if calibration is None and part is None:
        estimate, data, bias = _without_bias(estimate, data)
    declared = sign is not WrenchSign.AUTO and axes is not WrenchAxes.AUTO
    if part is not None and not part.tells_sign and not declared:
        doubts = (*doubts, part.ambiguous)
    doubts += _misdescribed(described, float(estimate.values[0]), still)
    return Weighing(
        estimate,
        data,
        frame,
        calibration,
        changes,
        notes=tuple(notes),
        doubts=doubts,
        running=running,
        smoothed=held.smoothed,
        bias=bias,
    )


def _described(
    samples: Samples, fresh: SensorModel, sign: WrenchSign, axes: WrenchAxes
) -> tuple[Samples, WrenchConvention]:
    """Samples with the wrench on the load in the axes of the sensor, without the motion if this does
    not explain the wrench, and the convention of the readings.
    """
    candidates = [samples.motion]
    poses = samples.model.joint_names == PoseRobot.JOINTS
    if not samples.still and not _accelerations_tell(
        samples.data, shifts=_shifts(samples, _LATEST[-1]), may_be_inverse=poses
    ):
        samples = samples.at_rest()
        candidates.append(samples.motion)
    for latest in _LATEST:
        shifts = _shifts(samples, latest)
        convention = WrenchConvention.find(
            samples.data.wrench,
            candidates,
            bias=[
                (scale * x, scale * y)
                for x, y in [fresh.untared.bias]
                for scale in fresh.untared.bias_scales
            ],
            zeroed=fresh.bias,
            # Nine more unknowns are too many for the postures of a usual tare.
            crosstalk=0.0 if samples.still else fresh.crosstalk * fresh.crosstalk_length,
            sign=sign,
            axes=axes,
            may_be_inverse=poses,
            shifts=shifts,
            time=samples.data.time,
        )
        if samples.still or convention.shift not in (shifts[0], shifts[-1]):
            break  # the delay isn't at the end of those tried
    if convention.is_inverse:
        samples = samples.inverted()
    if convention.gravity is not None:
        samples = samples.again(samples.run, samples.model.with_gravity(convention.gravity))
    data = samples.data
    assert data.R_WS is not None
    return samples.with_wrench(convention.apply(data.wrench, data.R_WS)), convention


def _accelerations_tell(data: PayloadData, **options: Any) -> bool:
    """`WrenchConvention.accelerations_tell` for samples."""
    return WrenchConvention.accelerations_tell(
        data.wrench, motion_of(data), time=data.time, **options
    )


def _of_one_load(
    samples: Samples, tool_pi: Array, estimator: Callable[[], OnlinePayload]
) -> tuple[Samples, tuple[LoadChange, ...], Estimate | None]:
    """Samples of the last load, without the tool, and without the motion if this does not explain
    the wrench; also all changes, and the running estimate from these samples.
    """
    data = samples.minus(tool_pi).data
    rows, found, running = _last_load(data, estimator)
    part = samples.data.select(rows)
    if samples.belief is not None and not _accelerations_tell(part):
        samples = samples.at_rest()
        data = samples.minus(tool_pi).data
        rows, found, running = _last_load(data, estimator)
    at = samples.stamps_ns[np.searchsorted(data.time, [one.stamp_s for one in found])]
    changes = tuple(LoadChange(int(t), c.kind, c.mass) for t, c in zip(at, found, strict=True))
    return samples.select(rows).minus(tool_pi), changes, running


def _last_load(
    data: PayloadData, estimator: Callable[[], OnlinePayload]
) -> tuple[slice, tuple[PayloadChange, ...], Estimate | None]:
    """Samples since the last change of the load or, if nothing is held afterwards, those of the
    preceding load; also all changes, and the running estimate from these samples.
    """
    online = estimator()
    changes = online.update(data)
    try:
        running = online.estimate()
    except EstimationError:  # nothing that weighs is held
        running = None
    if not changes:
        return slice(0, len(data)), (), running
    held = running is not None and running.values[0] > 3.0 * running.standard_deviations[0]
    stamp_s = changes[-1].stamp_s
    first, noticed = np.searchsorted(data.time, [stamp_s, stamp_s - NOTICED_S]).tolist()
    if held or changes[-1].kind is not ChangeKind.DETACHED or noticed < FEWEST_POSTURES:
        return slice(first, len(data)), changes, running
    rows, earlier, running = _last_load(data.select(slice(noticed)), estimator)
    return rows, (*earlier, changes[-1]), running


def _tared(
    recording: Recording, model: RobotModel, frame: str, spans: Sequence[tuple[int, int]]
) -> SensorCalibration:
    """Calibration from marked postures."""
    postures = StaticPostures.find(recording, model, frame, spans=spans)
    found = StaticPostures.tare(
        postures.wrench,
        postures.gravity_S,
        R_WS=postures.R_WS,
        frame=frame,
        noise=postures.noise,
    )
    return replace(found, stamp_ns=max(last for _, last in spans), notes=postures.notes)


def held_data(
    recording: Recording,
    model: RobotModel,
    frame: str,
    calibration: SensorCalibration,
    *,
    sensor: SensorModel | None = None,
    still: bool = False,
) -> tuple[PayloadData, SensorModel]:
    """Return the samples of a recording after subtraction of sensor bias and tool, and the
    remaining uncertainty of the sensor.

    Args:
        recording: Joint states and wrench of one load.
        model: Robot model.
        frame: Name of the sensor's frame.
        calibration: Calibration from a tare with no object held.
        sensor: Error magnitudes of the sensor before the tare; None: those of an ordinary sensor.
        still: True if every joint state is a static posture, with the wrench of the same stamp.

    Raises:
        EstimationError: There is no wrench, or no joint states surround it in time.
    """
    age_s = calibration.age_s(int(require_wrench(recording).stamps_ns[0]))
    samples, _ = Samples.of(recording, model, frame, calibration, still=still, fewest=1)
    tared = (sensor or SensorModel()).in_a_moment(calibration, age_s)
    return samples.minus(calibration.tool_pi).data, tared


def _doubted(
    estimate: Estimate, convention: WrenchConvention
) -> tuple[Estimate, tuple[Reason, ...]]:
    """Estimate whose standard deviations include the differences to the masses of other hypotheses,
    and the reason for a warning.

    Each hypothesis gives a mass of its own by least squares. If the mass of another hypothesis, or
    of a simpler model of the same one, differs from the estimate, the mass is not known, even if
    the standard deviation of the fit is small.
    """
    mass = float(estimate.values[0])
    if not mass > 0:
        return estimate, ()
    doubted = convention.elsewhere(mass, MASS_LIMIT) > WrenchConvention.UNLIKELY
    variance = convention.variance(mass) if doubted else convention.between
    off = estimate.values * (np.sqrt(variance) / mass)
    widened = replace(estimate, covariance=estimate.covariance + np.outer(off, off))
    if not doubted:
        return widened, ()
    said: list[str] = []
    for rival in convention.rivals:
        text = f"{rival.mass:.2g} ± {rival.sd:.1g}" if rival.mass else "0"
        if rival.probability > WrenchConvention.UNLIKELY and text not in said:
            said.append(text)
    return widened, (Reason.failure("wrench-ambiguous", masses=", ".join(said)),)


def _without_bias(estimate: Estimate, data: PayloadData) -> tuple[Estimate, PayloadData, Array]:
    """Estimate and data of an untared sensor after subtraction of its bias, the mean residual."""
    bias = np.mean(data.wrench - data.regressor @ estimate.values, axis=0)
    data = replace(data, wrench=data.wrench - bias)
    rms = CompressedWrenches.from_data(data).residual_rms(estimate.values)
    return replace(estimate, residual_rms=rms), data, bias


def _misdescribed(convention: WrenchConvention, mass: float, still: bool) -> tuple[Reason, ...]:
    """Reasons for errors of the description, or of the unit of torque, that the wrench shows.

    A single error is plausible. Several together, or another gravity in motion, may stand for
    forces that are not those of a load, such as a guiding hand's: they are believed only if the
    mass is the same without them.
    """
    far = (Reason.warning("load-far", distance=convention.arm),) if convention.arm > _FAR else ()
    if not convention.errors:
        return far
    plausible = len(convention.errors) == 1 and (still or convention.gravity is None)
    plain = convention.described
    same = plain is not None and plain.is_elsewhere(mass, MASS_LIMIT) < 0.5
    reason = Reason.warning if plausible or same else Reason.failure
    errors = convention.errors
    return (*far, reason("wrench-misdescribed", errors=" ".join(errors), count=len(errors)))


def _shifts(samples: Samples, latest: float) -> Sequence[int]:
    """Delays, in samples, at which sign and axes of the wrench are tested."""
    if samples.still:
        return (0,)
    period = float(np.median(np.diff(samples.data.time)))
    most = int(min(latest / period, len(samples.data) / 4))
    return (0,) if most < 1 else range(-most, most + 1, max(1, round(_DELAY_STEP / period)))
