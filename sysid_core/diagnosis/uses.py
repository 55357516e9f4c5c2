# SPDX-License-Identifier: Apache-2.0
"""What a recording will do for: arm, payload, one joint at a time, closed chain; with remedies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_core.diagnosis.effort_lag import effort_lag
from sysid_core.diagnosis.fitness import stream_faults
from sysid_core.diagnosis.recorded_motion import RecordedMotion
from sysid_core.diagnosis.stream_checks import effort_faults
from sysid_core.errors import SysIdError
from sysid_core.estimation.closed_chain import (
    ConstrainedEquations,
    identify_constrained_equations,
)
from sysid_core.estimation.payload_live import MOTION_SEGMENTS, TARE_PREFIX, motion_window
from sysid_core.estimation.recorded import TorqueDelay
from sysid_core.estimation.sequential import motion_segments
from sysid_core.judgement import Judgement
from sysid_core.planning.design import Unknowns
from sysid_core.robot import Array, RobotModel
from sysid_core.robot.loops import ClosedChain
from sysid_core.signals import EffortKind, Recording, standstill_share
from sysid_core.signals.wrench import ClockOffset, clock_of_recording, wrench_faults, wrench_hum

_LEAST_KNOWN = 0.3  # share of base parameters known at least roughly
_MUCH_STANDSTILL = 0.5
_TOLERATED_S = 5e-3  # between the clocks of wrench and joints
_ALONE_S = 2.0  # [s] in which a joint moves alone
_NOISE = np.repeat([0.1, 0.005], 3)  # [N, N m] of an ordinary sensor, where none was measured


@dataclass(frozen=True)
class Use:
    """A use of a recording.

    Attributes:
        name: `arm`, `payload`, `sequential` or `closed-chain`.
        judgement: Whether it will do; the reasons end in what to do.
        shown: What the motion shows for it, in words; "" where that isn't known.
        judged: Whether it could be judged.
    """

    name: str
    judgement: Judgement
    shown: str = ""
    judged: bool = True


class UseJudge:
    """Judges a recording for each use.

    Args:
        recording: Joint states, maybe wrenches and marks.
        model: The robot, other joints held; None where it isn't known.
        sensor_frame: Frame of the wrench; "": as the wrench says.
        chain: The closed chain; None where none is given.
        wrench_sd: Noise of the wrench, shape (6,); None: an ordinary sensor's.

    Attributes:
        clock: Offset and drift of the wrench's clock, after `payload`; None where unknown.
        lag: Lag of the efforts behind the positions, after `arm`; None where unknown.
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
        self._noise = _NOISE if wrench_sd is None else np.maximum(wrench_sd, 1e-6)
        self.clock: ClockOffset | None = None
        self.lag: TorqueDelay | None = None
        self._motion: RecordedMotion | None = None

    def uses(self) -> tuple[Use, ...]:
        """All of them."""
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
                out.append(Use(name, Judgement((str(err),))))
        return tuple(out)

    def arm(self) -> Use:
        """Inertials and friction of the whole arm, all joints at once."""
        judgement = self._joints() + self._efforts()
        motion = self._moved()
        if motion is None:
            return Use("arm", judgement + self._no_robot(judgement))
        if not judgement.ok:
            return Use("arm", judgement)
        rank, expected = motion.shows_of_arm(Unknowns.of_arm(motion.model))
        c = rank.excitation
        shown = f"rank {c.rank} of {c.structural_rank}; {expected}"
        remedy = "Add a motion that shows the rest: `sysid plan arm ROBOT --after BAG`."
        known = float(np.mean(expected.relative <= 0.5))
        if known < _LEAST_KNOWN:
            few = f"Only {100 * known:.0f} % of the base parameters will be known even roughly."
            judgement += Judgement((f"{few} {remedy}",))
        elif not c.maximally_exciting:
            short = f"The motion shows {c.rank} of {c.structural_rank} directions."
            judgement += Judgement(warnings=(f"{short} {remedy}",))
        return Use("arm", judgement + self._standstill() + self._late(motion.model), shown)

    def payload(self) -> Use:
        """A load by a force-torque sensor."""
        wrench, labels = self.recording.wrench, [m.label for m in self.recording.marks]
        if wrench is None or not len(wrench):
            text = "No wrench: record the sensor's topic, or weigh by torques (`sysid payload-torques`)."
            return Use("payload", Judgement((text,)))
        faults = [f"{fault.text} {fault.remedy}" for fault in wrench_faults(wrench)]
        hum = wrench_hum(wrench)
        hums = () if hum is None else (hum.text,)
        judgement = self._joints() + Judgement(tuple(faults), warnings=hums)
        if motion_window(self.recording) is None:
            segments = ", ".join(MOTION_SEGMENTS)
            text = f"No marks of a motion ({segments}, each with :start and :end): play what"
            judgement += Judgement((f"{text} `sysid plan payload` writes, or mark it.",))
        if not any(label.startswith(TARE_PREFIX) for label in labels):
            text = "No tare postures are marked: give --calibration of an earlier tare."
            judgement += Judgement(warnings=(text,))
        motion = self._moved()
        if motion is None:
            return Use("payload", judgement + self._no_robot(judgement))
        if not len(motion):
            return Use("payload", judgement)
        motion.model.frame_id(self._frame)  # refuses a frame that the robot lacks
        shown = motion.shows_of_payload(self._frame, self._noise)
        if not shown.is_complete:
            text = f"The motion shows {shown.rank} of 10 directions of a load: tilt and turn"
            judgement += Judgement(warnings=(f"{text} the sensor about all axes.",))
        return Use("payload", judgement + self._clocks(motion.model), str(shown))

    def sequential(self) -> Use:
        """One joint at a time (Lin 1992)."""
        judgement = self._joints() + self._efforts()
        joints = self.recording.joints
        step = max(1, len(joints) // 20_000)
        time, q = joints.time[::step], joints.q[::step]
        if len(time) < 20 or not judgement.ok:
            return Use("sequential", judgement)
        alone = dict.fromkeys(joints.names, 0.0)
        for segment in motion_segments(time, np.gradient(q, time, axis=0), joints.names, 0.02):
            if len(segment.joints) == 1:
                alone[segment.joints[0]] += segment.end - segment.start
        names = self.model.joint_names if self.model is not None else joints.names
        missing = [name for name in names if alone.get(name, 0.0) < _ALONE_S]
        shown = f"{len(names) - len(missing)} of {len(names)} joints move alone for 2 s or more"
        remedy = "play what `sysid plan sequential` writes."
        if len(missing) == len(names):
            judgement += Judgement((f"No joint moves alone for 2 s: {remedy}",))
        elif missing:
            text = f"{', '.join(missing)} never move alone for 2 s: {remedy}"
            judgement += Judgement(warnings=(text,))
        return Use("sequential", judgement, shown)

    def closed_chain(self) -> Use:
        """A mechanism with loops, by its driven joints."""
        if self.chain is None:
            text = "Not judged without the loops: give --loops FILE."
            return Use("closed-chain", Judgement(warnings=(text,)), judged=False)
        equations = ConstrainedEquations.build(self.chain, [self.recording])
        estimate = identify_constrained_equations(equations, inertials=True)
        shown = f"rank {estimate.rank} of {estimate.structural_rank}"
        judgement = self._standstill()
        if not estimate.maximally_exciting:
            text = f"The motion shows {shown}: move faster and through more postures"
            judgement += Judgement(warnings=(f"{text} (`sysid plan loops`).",))
        return Use("closed-chain", judgement, shown)

    def _joints(self) -> Judgement:
        return Judgement(stream_faults(self.recording.joints))

    def _efforts(self) -> Judgement:
        joints = self.recording.joints
        if joints.effort is None:
            return Judgement(("No efforts: record torques or motor currents.",))
        if joints.effort_kind is EffortKind.UNKNOWN:
            return Judgement(("Nothing says what `effort` means: pass --effort-kind.",))
        if joints.effort_kind is EffortKind.GRAVITY_COMPENSATED:
            text = "Efforts without gravity can't be used: record torques or motor currents."
            return Judgement((text,))
        return effort_faults(joints)

    def _standstill(self) -> Judgement:
        joints = self.recording.joints
        rows = slice(None, None, max(len(joints) // 30_000, 1))
        share = standstill_share(joints.time[rows], joints.q[rows])
        if share < _MUCH_STANDSTILL:
            return Judgement()
        text = f"The robot stands still for {100 * share:.0f} % of the time: record less of that."
        return Judgement(warnings=(text,))

    def _no_robot(self, so_far: Judgement) -> Judgement:
        text = "What the motion shows isn't known without the robot: give --robot."
        return Judgement(warnings=(text,)) if so_far.ok else Judgement()

    def _moved(self) -> RecordedMotion | None:
        if self._motion is None and self.model is not None:
            self._motion = RecordedMotion.of(self.model, self.recording.joints)
        return self._motion

    def _late(self, model: RobotModel) -> Judgement:
        self.lag = effort_lag(self.recording, model)
        if self.lag is None or not self.lag.worth_correcting:
            return Judgement()
        text = f"Efforts come {1e3 * self.lag.seconds:.1f} ms late: `sysid identify --delay auto`"
        return Judgement(warnings=(f"{text} corrects that.",))

    def _clocks(self, model: RobotModel) -> Judgement:
        window = motion_window(self.recording)
        clock = clock_of_recording(self.recording, model, self._frame, window_ns=window)
        if not clock.is_known:
            text = "The motion is too slow to compare the clocks of wrench and joints."
            return Judgement(warnings=(text,))
        self.clock = clock
        if clock.largest_s <= _TOLERATED_S:
            return Judgement()
        text = f"The wrench's stamps aren't on the joints' clock: {clock}. `sysid payload`"
        return Judgement(warnings=(f"{text} corrects them; better, synchronise the devices.",))
