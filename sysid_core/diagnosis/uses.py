# SPDX-License-Identifier: Apache-2.0
"""Possible uses of a recording (arm, payload, one joint at a time, closed chain), with remedies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_core.diagnosis.effort_lag import effort_lag
from sysid_core.diagnosis.fitness import stream_faults
from sysid_core.diagnosis.recorded_motion import RecordedMotion
from sysid_core.diagnosis.stream_checks import effort_faults
from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.estimation.fit import LeastSquares
from sysid_core.estimation.payload_live import PayloadSession, motion_window
from sysid_core.estimation.sequential import motion_segments
from sysid_core.planning.design import Unknowns
from sysid_core.planning.payload import WRENCH_NOISE
from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.robot import Array, DriveTrain, FrictionModel, RobotModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot
from sysid_core.signals import EffortKind, Recording, standstill_share
from sysid_core.signals.wrench import ClockOffset, WrenchCheck

_LEAST_KNOWN = 0.3  # share of base parameters known at least roughly
_MUCH_STANDSTILL = 0.5
_TOLERATED_S = 5e-3  # between the clocks of wrench and joints
_ALONE_S = 2.0  # [s] in which a joint moves alone


@dataclass(frozen=True)
class Use:
    """Possible use of a recording, such as the identification of an arm.

    Attributes:
        name: Name of the use: `arm`, `payload`, `sequential` or `closed-chain`.
        verdict: Verdict on this use; the reasons end with recommended actions.
        shown: Information that the motion contains for this use, in words; empty: unknown.
    """

    name: str
    verdict: Verdict
    shown: str = ""

    @property
    def judged(self) -> bool:
        """True if the recording could be judged for this use."""
        return self.verdict.outcome is not Outcome.NOT_JUDGED


class UseJudge:
    """Judge of a recording's suitability for each kind of identification.

    Args:
        recording: Joint states, with or without wrenches and marks.
        model: The robot, with other joints held fixed; None: unknown.
        sensor_frame: Name of the wrench's frame; empty: the one in the wrench messages.
        chain: Closed chain of the robot; None: no closed chain.
        wrench_sd: Noise of the wrench, shape (6,) [N, N m]; None: that of an ordinary sensor.

    Attributes:
        clock: Offset and drift of the wrench's clock, set by `payload`; None: unknown.
        lag: Lag of the efforts behind the positions, set by `arm`; None: unknown.
    """

    def __init__(
        self,
        recording: Recording,
        model: RobotModel | None,
        *,
        sensor_frame: str = "",
        chain: ClosedChain | None = None,
        wrench_sd: Array | None = None,
    ) -> None:
        self.recording, self.model, self.chain = recording, model, chain
        wrench = recording.wrench
        self._frame = sensor_frame or (wrench.frame if wrench is not None else "")
        self._noise = WRENCH_NOISE if wrench_sd is None else np.maximum(wrench_sd, 1e-6)
        self.clock: ClockOffset | None = None
        self.lag: TorqueDelay | None = None
        self._motion: RecordedMotion | None = None

    def uses(self) -> tuple[Use, ...]:
        """Judge the recording for all uses."""
        names = ("arm", "payload", "sequential", "closed-chain")
        methods: tuple[Callable[[], Use], ...] = (
            self.arm,
            self.payload,
            self.sequential,
            self.closed_chain,
        )
        out = []
        for name, method in zip(names, methods, strict=True):
            try:
                out.append(method())
            except SysIdError as err:
                refused = Reason.failure("refused", message=err.message, remedy=err.remedy)
                out.append(Use(name, Verdict((refused,))))
        return tuple(out)

    def arm(self) -> Use:
        """Judge the recording for the identification of inertial and friction parameters of the
        whole arm.
        """
        verdict = self._joints() + self._efforts()
        motion = self._moved()
        if motion is None:
            return Use("arm", verdict + self._no_robot(verdict))
        if not verdict.ok:
            return Use("arm", verdict)
        rank, expected = motion.shows_of_arm(Unknowns.of_arm(motion.model))
        c = rank.excitation
        shown = f"rank {c.rank} of {c.structural_rank}; {expected}"
        known = float(np.mean(expected.relative <= 0.5))
        if known < _LEAST_KNOWN:
            verdict += (Reason.failure("parameters-few", share=known),)
        elif not c.maximally_exciting:
            verdict += (Reason.warning("motion-rank", rank=c.rank, full=c.structural_rank),)
        return Use("arm", verdict + self._standstill() + self._late(motion.model), shown)

    def payload(self) -> Use:
        """Judge the recording for the identification of a payload with a force-torque sensor."""
        wrench, labels = self.recording.wrench, [m.label for m in self.recording.marks]
        if wrench is None or not len(wrench):
            return Use("payload", Verdict((Reason.failure("wrench-missing"),)))
        verdict = self._joints() + tuple(
            Reason.failure(
                "wrench-fault", kind=fault.kind.value, text=fault.text, remedy=fault.remedy
            )
            for fault in WrenchCheck(wrench).faults()
        )
        hum = WrenchCheck(wrench).hum()
        if hum is not None:
            verdict += (Reason.warning("wrench-hum", frequency_hz=hum.frequency_hz, text=hum.text),)
        if not any(label.startswith(PayloadSession.TARE_PREFIX) for label in labels):
            verdict += (Reason.warning("tare-missing"),)
        motion = self._moved()
        if motion is None:
            return Use("payload", verdict + self._no_robot(verdict))
        if not len(motion):
            return Use("payload", verdict)
        motion.model.frame_id(self._frame)  # refuses a frame that the robot lacks
        shown = motion.shows_of_payload(self._frame, self._noise)
        if not shown.is_complete:
            verdict += (Reason.warning("payload-rank", rank=shown.rank),)
        return Use("payload", verdict + self._clocks(motion.model), str(shown))

    def sequential(self) -> Use:
        """Judge the recording for the identification of one joint at a time (Lin 1992)."""
        verdict = self._joints() + self._efforts()
        joints = self.recording.joints
        step = max(1, len(joints) // 20_000)
        time, q = joints.time[::step], joints.q[::step]
        if len(time) < 20 or not verdict.ok:
            return Use("sequential", verdict)
        alone = dict.fromkeys(joints.names, 0.0)
        for segment in motion_segments(time, np.gradient(q, time, axis=0), joints.names, 0.02):
            if len(segment.joints) == 1:
                alone[segment.joints[0]] += segment.end - segment.start
        names = self.model.joint_names if self.model is not None else joints.names
        missing = [name for name in names if alone.get(name, 0.0) < _ALONE_S]
        shown = f"{len(names) - len(missing)} of {len(names)} joints move alone for 2 s or more"
        if missing:
            say = Reason.failure if len(missing) == len(names) else Reason.warning
            verdict += (say("joints-not-alone", joints=missing, least=_ALONE_S),)
        return Use("sequential", verdict, shown)

    def closed_chain(self) -> Use:
        """Judge the recording for the identification of a mechanism with closed loops from its
        driven joints.
        """
        if self.chain is None:
            return Use("closed-chain", Verdict((Reason.not_judged("loops-missing"),)))
        robot = DrivenRobot.of(self.chain)
        friction = FrictionModel(DriveTrain.direct(robot.joint_names))
        equations = ArmEquations.build(robot, [self.recording], friction, Processing())
        estimate = LeastSquares("joint").fit(equations.regression(equations.prior))
        shown = f"rank {estimate.rank} of {estimate.structural_rank}"
        verdict = self._standstill() + self._late(robot)
        if not estimate.maximally_exciting:
            full = estimate.structural_rank
            verdict += (Reason.warning("chain-rank", rank=estimate.rank, full=full),)
        return Use("closed-chain", verdict, shown)

    def _joints(self) -> Verdict:
        return Verdict(stream_faults(self.recording.joints))

    def _efforts(self) -> Verdict:
        joints = self.recording.joints
        if joints.effort is None:
            return Verdict((Reason.failure("efforts-missing"),))
        if joints.effort_kind is EffortKind.UNKNOWN:
            return Verdict((Reason.failure("effort-kind-unknown"),))
        if joints.effort_kind is EffortKind.GRAVITY_COMPENSATED:
            return Verdict((Reason.failure("effort-kind-unusable"),))
        return effort_faults(joints)

    def _standstill(self) -> Verdict:
        joints = self.recording.joints
        rows = slice(None, None, max(len(joints) // 30_000, 1))
        share = standstill_share(joints.time[rows], joints.q[rows])
        if share < _MUCH_STANDSTILL:
            return Verdict()
        return Verdict((Reason.warning("standstill", share=share),))

    def _no_robot(self, so_far: Verdict) -> Verdict:
        return Verdict((Reason.warning("robot-missing"),)) if so_far.ok else Verdict()

    def _moved(self) -> RecordedMotion | None:
        if self._motion is None and self.model is not None:
            self._motion = RecordedMotion.of(self.model, self.recording.joints)
        return self._motion

    def _late(self, model: RobotModel) -> Verdict:
        self.lag = effort_lag(self.recording, model)
        if self.lag is None or not self.lag.worth_correcting:
            return Verdict()
        numbers = {"ms": 1e3 * self.lag.seconds, "sd": 1e3 * self.lag.sd}
        return Verdict((Reason.warning("efforts-late", **numbers),))

    def _clocks(self, model: RobotModel) -> Verdict:
        window = motion_window(self.recording)
        clock = ClockOffset.of_recording(self.recording, model, self._frame, window_ns=window)
        if not clock.is_known:
            return Verdict((Reason.warning("clocks-unknown"),))
        self.clock = clock
        if clock.largest_s <= _TOLERATED_S:
            return Verdict()
        return Verdict((Reason.warning("clocks-differ", clock=str(clock)),))
