# SPDX-License-Identifier: Apache-2.0
"""Payload estimation from any motion, without marks, plan or tare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import CompressedWrenches, PayloadData
from sysid_core.estimation.payload_live.marks import marked_spans, on_one_clock
from sysid_core.estimation.payload_live.online import (
    NOTICED_S,
    ChangeKind,
    OnlinePayload,
    PayloadChange,
)
from sysid_core.estimation.payload_live.session import LoadChange, require_wrench
from sysid_core.estimation.payload_live.weighing import MASS_LIMIT, Weighing
from sysid_core.estimation.payload_map import PayloadMAP, SensorModel, SplineMotion
from sysid_core.estimation.payload_map.smoothing import smoothed_payload_data
from sysid_core.reasons import Reason
from sysid_core.robot import Array, FrameMotion, PoseRobot, RobotModel
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_core.signals.wrench import (
    SensorCalibration,
    StaticPostures,
    WrenchAxes,
    WrenchCheck,
    WrenchConvention,
    WrenchSign,
)

_MOTION_S = 0.02  # [s] over which readings may be averaged: motion has nothing beyond 10 Hz
_MOST = 4_000  # samples of a fit: more only cost time, what is left over hangs together anyway
_ENDS_NS = 300_000_000  # of joint states before and after, where splines end
_LONGEST_GAP_NS = 100_000_000  # between joint states
_FEWEST_POSTURES = 4
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
    together with the load. With a tare, only the samples after the last change of the load are used
    or, if nothing is held afterwards, those of the preceding load.

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
    tares, motions = marked_spans(recording)
    if calibration is None and tares and motions:
        calibration = _tared(recording, model, frame, tares)
    fresh = sensor or SensorModel()
    run = recording if not motions else _within(recording, motions)
    known = calibration or _nothing_known(frame)
    age_s = known.age_s(int(require_wrench(run).stamps_ns[0]))
    errors = fresh.untared if calibration is None else fresh.tared(known, age_s)
    run, notes = _unsaturated(run) if still else _usable(run, known)
    motion_of = _postures if still else _at_motion
    data, belief = motion_of(run, model, frame)
    assert data.R_WS is not None
    net = known.net(data.wrench, data.R_WS, data.p_WS)
    poses = model.joint_names == PoseRobot.JOINTS
    shifts = (0,) if still or calibration is not None else _shifts(data, _LATEST[-1])
    candidates = [_motion(data)]
    tells = WrenchConvention.accelerations_tell
    if (
        calibration is None
        and not still
        and not tells(net, _motion(data), may_be_inverse=poses, shifts=shifts, time=data.time)
    ):
        motion_of = _by_gravity
        data, belief = motion_of(run, model, frame)
        assert data.R_WS is not None
        candidates.append(_motion(data))
        notes.append(_ONLY_GRAVITY)
    convention = WrenchConvention()  # a tare has found sign and axes
    for latest in _LATEST if calibration is None else ():
        shifts = (0,) if still else _shifts(data, latest)
        convention = WrenchConvention.find(
            net,
            candidates,
            bias=[(share * errors.bias[0], share * errors.bias[1]) for share in errors.bias_scales],
            zeroed=fresh.bias,
            # Nine more unknowns are too many for the postures of a usual tare.
            crosstalk=0.0 if still else errors.crosstalk * errors.crosstalk_length,
            sign=sign,
            axes=axes,
            may_be_inverse=poses,
            shifts=shifts,
            time=data.time,
        )
        if still or convention.shift not in (shifts[0], shifts[-1]):
            break  # the delay isn't at the end of those tried
    if convention.is_inverse:
        model, recording = _inverted(model, frame, recording)
        run = replace(run, joints=recording.joints)
    if convention.gravity is not None:
        model = model.with_gravity(convention.gravity)
    if convention.is_inverse or convention.gravity is not None:
        data, belief = motion_of(run, model, frame)
    assert data.R_WS is not None and run.wrench is not None
    net = convention.apply(net, data.R_WS)
    notes += convention.notes
    run = replace(run, wrench=replace(run.wrench, wrench=net)) if not still else run
    if clock and not still:
        moved, _ = on_one_clock(run, model, frame, calibration)
        if moved.notes:
            notes += moved.notes
            assert moved.wrench is not None
            run = replace(moved, wrench=_covered(moved.wrench, recording.joints.stamps_ns))
            data, belief = motion_of(run, model, frame)
            net = data.wrench
    data = replace(data, wrench=net - data.regressor @ known.tool_pi)
    changes: tuple[LoadChange, ...] = ()
    running = None
    assert run.wrench is not None
    if calibration is not None and not still:
        online = partial(OnlinePayload, shape, sensor=errors)
        rows, found, running = _of_one_load(data, online)
        part = data.select(rows)
        felt = part.wrench + part.regressor @ known.tool_pi
        if not tells(felt, _motion(part), time=part.time):
            notes.append(_ONLY_GRAVITY)
            motion_of = _by_gravity
            data, belief = motion_of(run, model, frame)
            data = replace(data, wrench=data.wrench - data.regressor @ known.tool_pi)
            rows, found, running = _of_one_load(data, online)
            part = data.select(rows)
        at = run.wrench.stamps_ns[np.searchsorted(data.time, [one.stamp_s for one in found])]
        changes = tuple(LoadChange(int(t), c.kind, c.mass) for t, c in zip(at, found, strict=True))
    if changes:
        put_down = "Nothing is held at the end: the load that was held before was estimated."
        notes += [put_down] if rows.stop < len(data) else []
        run = replace(run, wrench=run.wrench.select(rows))
        data, belief = replace(part, time=part.time - part.time[0]), motion_of(run, model, frame)[1]
    estimate, bias = PayloadMAP(shape, sensor=errors).fit(data, belief), None
    estimate, doubts = _doubted(estimate, convention)
    if calibration is None:
        estimate, data, bias = _without_bias(estimate, data)
    doubts += _misdescribed(convention, float(estimate.values[0]), still)
    return Weighing(
        estimate,
        data,
        frame,
        calibration,
        changes,
        notes=tuple(notes),
        doubts=doubts,
        running=running,
        smoothed=_smoothed(belief, run, len(data)),
        bias=bias,
    )


def _of_one_load(
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
    if held or changes[-1].kind is not ChangeKind.DETACHED or noticed < _FEWEST_POSTURES:
        return slice(first, len(data)), changes, running
    rows, earlier, running = _of_one_load(data.select(slice(noticed)), estimator)
    return rows, (*earlier, changes[-1]), running


def _smoothed(belief: SplineMotion | None, run: Recording, count: int) -> JointStream | None:
    """Joint states after the smoothing that the estimation uses."""
    if belief is None or run.wrench is None:
        return None
    q, v, a = belief.joints()
    return JointStream(belief.joint_names, run.wrench.stamps_ns[-count:], q, v, a)


def _within(recording: Recording, spans: Sequence[tuple[int, int]]) -> Recording:
    """Copy of the recording with the wrench readings of some time spans only."""
    assert recording.wrench is not None
    stamps = recording.wrench.stamps_ns
    inside = np.any([(stamps >= first) & (stamps <= last) for first, last in spans], axis=0)
    return replace(recording, wrench=recording.wrench.select(np.flatnonzero(inside)))


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
    run = _unsaturated(recording)[0] if still else _usable(recording, calibration)[0]
    data, _ = _postures(run, model, frame, 1) if still else _at_motion(run, model, frame)
    assert data.R_WS is not None
    net = calibration.net(data.wrench, data.R_WS, data.p_WS)
    tared = (sensor or SensorModel()).in_a_moment(calibration, age_s)
    return replace(data, wrench=net - data.regressor @ calibration.tool_pi), tared


def _unsaturated(recording: Recording) -> tuple[Recording, list[str]]:
    """Static postures in which no axis is saturated, and notes on the others."""
    assert recording.wrench is not None
    bad = WrenchCheck.saturated_postures(recording.wrench.wrench)
    lost = [f"{int(bad.sum())} saturated postures were omitted."] if bad.any() else []
    kept = recording.wrench.select(np.flatnonzero(~bad))
    return replace(recording, wrench=kept), [*recording.notes, *lost]


def _usable(recording: Recording, known: SensorCalibration) -> tuple[Recording, list[str]]:
    """Recording with those readings for which joint states exist before and after, averaged over
    short intervals, and notes on the others.
    """
    assert recording.wrench is not None
    readings, found = WrenchCheck(recording.wrench).usable()
    late = max(0, round(known.delay[0] * 1e9))
    shifted = replace(readings, stamps_ns=readings.stamps_ns - late)
    covered = _covered(shifted, recording.joints.stamps_ns)
    notes = [*recording.notes]
    if lost := len(shifted) - len(covered):
        notes.append(
            f"{lost} of {len(shifted)} wrench samples lie outside the time of the joint states and were omitted."
        )
    return replace(recording, wrench=_thinned(covered), notes=()), [*notes, *found]


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


def _inverted(model: RobotModel, frame: str, run: Recording) -> tuple[RobotModel, Recording]:
    """Robot and recording of poses, with all rotations inverted."""
    q = run.joints.ordered(model.joint_names).q
    R = model.frame_motion(frame, q, np.zeros_like(q), np.zeros_like(q)).R_WF
    made = PoseRobot.of(q[:, :3], R.transpose(0, 2, 1))
    joints = JointStream(PoseRobot.JOINTS, run.joints.stamps_ns, made.q)
    turned = RobotModel.from_urdf(made.urdf).with_gravity(model.gravity)
    return turned, replace(run, joints=joints, urdf_xml=made.urdf)


def _motion(data: PayloadData) -> FrameMotion:
    assert data.R_WS is not None
    return FrameMotion(data.R_WS, data.omega, data.alpha, data.a, data.gravity)


def _by_gravity(
    run: Recording, model: RobotModel, frame: str
) -> tuple[PayloadData, SplineMotion | None]:
    """Wrench readings with the posture at their stamps, as if the robot were at rest in each
    posture.
    """
    data, _ = _at_motion(run, model, frame)
    rest = np.zeros_like(data.a)
    return replace(data, a=-data.gravity, omega=rest, alpha=rest), None


def _shifts(data: PayloadData, latest: float) -> Sequence[int]:
    """Delays, in samples, at which sign and axes of the wrench are tested."""
    period = float(np.median(np.diff(data.time)))
    most = int(min(latest / period, len(data) / 4))
    return (0,) if most < 1 else range(-most, most + 1, max(1, round(_DELAY_STEP / period)))


def _at_motion(
    run: Recording, model: RobotModel, frame: str
) -> tuple[PayloadData, SplineMotion | None]:
    """Wrench readings with the motion at their stamps, and the uncertainty of this motion."""
    assert run.wrench is not None
    stamps, wrench = run.wrench.stamps_ns, run.wrench.wrench
    return smoothed_payload_data(model, frame, run.joints, stamps, wrench, source=run.source)


def _postures(
    recording: Recording, model: RobotModel, frame: str, fewest: int = _FEWEST_POSTURES
) -> tuple[PayloadData, SplineMotion | None]:
    """Joint states as postures at rest, each with the wrench of the same stamp.

    Raises:
        EstimationError: There are too few postures.
    """
    assert recording.wrench is not None
    joints = recording.joints.ordered(model.joint_names)
    stamps, rows, of_wrench = np.intersect1d(
        joints.stamps_ns, recording.wrench.stamps_ns, return_indices=True
    )
    if len(stamps) < fewest:
        raise EstimationError(
            f"{len(stamps)} static postures are too few.",
            remedy=f"Hold still in {fewest} postures or more, tilted about two axes.",
        )
    q = joints.q[rows]
    motion = model.frame_motion(frame, q, np.zeros_like(q), np.zeros_like(q))
    time, wrench = (stamps - stamps[0]) * 1e-9, recording.wrench.wrench[of_wrench]
    return PayloadData.of(time, wrench, motion, source=recording.source), None


def _covered(readings: WrenchStream, joints_ns: NDArray[np.int64]) -> WrenchStream:
    """Wrench readings between two joint states whose stamps differ little."""
    stamps = np.unique(joints_ns)
    usual = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    after = np.searchsorted(stamps, readings.stamps_ns, side="right")
    ends = min(_ENDS_NS, int(stamps[-1] - stamps[0]) // 10)
    at = readings.stamps_ns
    inside = (at >= stamps[0] + ends) & (at <= stamps[-1] - ends)
    k = np.clip(after, 1, max(len(stamps) - 1, 1))
    wide = (stamps[k] - stamps[k - 1]) > max(_LONGEST_GAP_NS, 3.0 * usual)
    return readings.select(np.flatnonzero(inside & ~wide))


def _thinned(readings: WrenchStream) -> WrenchStream:
    """Readings averaged over short intervals, so that their number does not exceed what a fit
    needs.
    """
    if len(readings) < 2:
        return readings
    period = float(np.median(np.diff(readings.stamps_ns))) * 1e-9
    together = max(1, int(_MOTION_S / max(period, 1e-6)))
    count = len(readings) // together
    if together > 1 and count > _FEWEST_POSTURES:
        groups = np.arange(count * together).reshape(count, together)
        stamps = readings.stamps_ns[groups]
        near = (stamps[:, -1] - stamps[:, 0]) < 2e9 * _MOTION_S  # not over a gap
        middle = stamps[:, 0] + np.mean(stamps - stamps[:, :1], axis=1).astype(np.int64)
        means = readings.wrench[groups].mean(axis=1)
        readings = WrenchStream(readings.frame, middle[near], means[near])
    return readings.select(slice(None, None, -(-len(readings) // _MOST)))


def _nothing_known(frame: str) -> SensorCalibration:
    return SensorCalibration(frame, np.zeros(6), np.zeros(4), np.zeros((10, 10)))
