# SPDX-License-Identifier: Apache-2.0
"""Transfer of a payload to a controller: proposed, confirmed by a person, read back, or rolled
back.

This module defines the order of the steps without communicating with a robot; the node carries out
the steps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.controller_payload.payload import ControllerPayload, PayloadLimits
from sysid_core.errors import ModelError
from sysid_core.reasons import Verdict
from sysid_core.robot import Array, transform_pi
from sysid_core.settings import Kind

_G = 9.80665  # [m/s^2]
_KGF_CM_S2 = 1e-2 * _G  # [kg m^2] in a kgf cm s^2
_ALPHA = 1.0  # [rad/s^2], of the motion for which an inertia that isn't set is counted


class Make(Kind):
    """Robot vendors whose controllers accept a payload."""

    UR = "UR"
    FRANKA = "Franka"
    XARM = "xArm"
    KUKA = "KUKA"
    ABB = "ABB"
    FANUC = "FANUC"


@dataclass(frozen=True, eq=False)
class ControllerSetting:
    """Payload values for one vendor, for manual entry or for the service of the vendor's driver.

    Attributes:
        vendor: Vendor of the robot.
        text: Call of the vendor's interface, with the numbers as rounded by the controller.
        kept: Payload that the controller then uses.
        error_torque: Largest torque about the flange due to the difference between the estimated
            payload and `kept` [N m]: gravity torque in the worst posture, plus the torque of the
            inertia difference at 1 rad/s^2.
        torque_sd: Standard deviation of the gravity torque about the flange in the worst posture,
            from that of the payload [N m].
    """

    vendor: Make
    text: str
    kept: ControllerPayload
    error_torque: float
    torque_sd: float = float("nan")

    def to_dict(self) -> dict[str, str | float]:
        """Return text and torques, for result.json."""
        return {
            "setting": self.text,
            "error_torque": self.error_torque,
            "torque_sd": self.torque_sd,
        }

    @staticmethod
    def all_of(
        pi: Array, covariance: Array, verdict: Verdict, X: ArrayLike
    ) -> tuple[ControllerSetting, ...]:
        """Return the settings for a payload with its uncertainty; empty if there is no load or the
        verdict is a failure.

        Args:
            pi: Inertial parameters in a frame fixed to the flange, shape (10,).
            covariance: Covariance of the parameters, shape (10, 10).
            verdict: Verdict on the payload.
            X: Pose of that frame in the flange frame, shape (4, 4).
        """
        if not (pi[0] > 0 and verdict.ok):
            return ()
        moved = transform_pi(X, transform_pi(X, covariance).T)[1:4, 1:4]
        sd = _G * float(np.sqrt(np.linalg.eigvalsh(moved)[-1]))
        lines = controller_settings(ControllerPayload.from_pi(transform_pi(X, pi)))
        return tuple(replace(line, torque_sd=sd) for line in lines)


def controller_settings(payload: ControllerPayload) -> tuple[ControllerSetting, ...]:
    """Convert a payload to the values that UR, Franka, xArm, KUKA, ABB and FANUC expect.

    KUKA (KRL `LOAD`) and ABB (RAPID `loaddata`) take the inertia about its principal axes, whose
    orientation is given by the angles A, B, C about z, y, x, or by a quaternion. FANUC (screen
    MOTION PAYLOAD SET) takes the moments about the axes of the flange, and no products of inertia.

    Args:
        payload: Payload on the flange, in the flange frame.
    """
    m, c, inertia = payload.mass, payload.com, payload.inertia
    tensor = np.array([inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])
    column = inertia.T.ravel()  # column by column
    mm, cm = 1e3 * c, 1e2 * c
    turn, J = _principal(inertia)
    abc, quaternion = turn.as_euler("ZYX", degrees=True), turn.as_quat(scalar_first=True)
    of_kuka = scipy.spatial.transform.Rotation.from_euler("ZYX", abc.round(2), degrees=True)
    of_abb = scipy.spatial.transform.Rotation.from_quat(quaternion.round(6), scalar_first=True)
    moments = np.diag(inertia) / _KGF_CM_S2
    full, millimetres = inertia.round(6), mm.round(1) * 1e-3
    texts = {
        Make.UR: (
            f"set_target_payload({m:.3f}, [{_row(c, 4)}], [{_row(tensor, 6)}])",
            ControllerPayload(round(m, 3), c.round(4), full),
        ),
        Make.FRANKA: (
            f"SetLoad(mass={m:.3f}, F_x_center_load=[{_row(c, 4)}],"
            f" load_inertia=[{_row(column, 6)}])",
            ControllerPayload(round(m, 3), c.round(4), full),
        ),
        Make.XARM: (
            f"set_tcp_load({m:.3f}, [{_row(mm, 1)}])  # kg, mm; no inertia",
            ControllerPayload(round(m, 3), millimetres, np.zeros((3, 3))),
        ),
        Make.KUKA: (
            f"LOAD_DATA[1]={{M {m:.3f},CM {{{_named('XYZ', mm, 1)},{_named('ABC', abc, 2)}}},"
            f"J {{{_named('XYZ', J, 6)}}}}}",
            ControllerPayload(round(m, 3), millimetres, _about_axes(of_kuka, J)),
        ),
        Make.ABB: (
            f"PERS loaddata load1:=[{m:.3f},[{_row(mm, 1)}],[{_row(quaternion, 6)}],{_row(J, 6)}];",
            ControllerPayload(round(m, 3), millimetres, _about_axes(of_abb, J)),
        ),
        Make.FANUC: (
            f"PAYLOAD {m:.2f} kg; CENTER {_named('XYZ', cm, 2)} cm;"
            f" INERTIA {_named('XYZ', moments, 3)} kgfcms^2  # no products",
            ControllerPayload(
                round(m, 2), cm.round(2) * 1e-2, np.diag(moments.round(3) * _KGF_CM_S2)
            ),
        ),
    }
    return tuple(
        ControllerSetting(vendor, text, kept, remaining_torque(payload, kept))
        for vendor, (text, kept) in texts.items()
    )


def _principal(inertia: Array) -> tuple[scipy.spatial.transform.Rotation, Array]:
    """Principal axes, ordered such that each is close to the flange axis of the same name, and
    principal moments, shape (3,).
    """
    moments, axes = np.linalg.eigh(inertia)
    order = max(permutations(range(3)), key=lambda order: np.abs(np.diag(axes[:, order])).sum())
    moments, axes = moments[list(order)], axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[:, np.argmin(np.diag(axes))] *= -1.0
    return scipy.spatial.transform.Rotation.from_matrix(axes), moments


def _about_axes(turn: scipy.spatial.transform.Rotation, moments: Array) -> Array:
    """Inertia from its principal axes and rounded moments, shape (3, 3)."""
    R = turn.as_matrix()
    return np.asarray(R @ np.diag(moments.round(6)) @ R.T)


def remaining_torque(payload: ControllerPayload, kept: ControllerPayload) -> float:
    """Return the gravity torque about the flange that a controller's payload leaves uncompensated
    [N m].

    The remaining torque is `g |m c - m' c'|` in the worst posture, plus `|I - I'| 1 rad/s^2` if the
    inertia differs.
    """
    weight = _G * float(np.linalg.norm(payload.pi[1:4] - kept.pi[1:4]))
    return weight + _ALPHA * float(np.linalg.norm(payload.inertia - kept.inertia, 2))


def _row(values: Array, digits: int) -> str:
    return ", ".join(_number(x, digits) for x in values)


def _named(names: str, values: Array, digits: int) -> str:
    return ",".join(f"{name} {_number(x, digits)}" for name, x in zip(names, values, strict=True))


def _number(x: float, digits: int) -> str:
    return f"{round(x, digits) + 0.0:.{digits}f}"  # without the sign of a rounded zero


class ExchangeState(Kind):
    """State of the transfer of a payload to a controller."""

    IDLE = "idle"
    PROPOSED = "proposed: waiting for confirmation"
    SENDING = "sending"
    SET = "set"
    FAILED = "failed: the controller's payload is uncertain"


@dataclass(frozen=True)
class Proposal:
    """Payload that waits for the confirmation of a person.

    Attributes:
        id: Identifier that the confirmation must contain, so that nobody confirms another proposal.
        payload: Payload to be sent.
        proposed_at: Time of the proposal, on the caller's clock [s].
    """

    id: str
    payload: ControllerPayload
    proposed_at: float


class PayloadExchange:
    """State machine for the payload of one controller. Nothing is sent before `confirm`.

    Args:
        limits: Plausibility limits.
        patience_s: Time for which a proposal is valid [s]; afterwards the robot may hold another
            object.
        previous: Present payload of the controller, to which a rollback returns; None: unknown.
    """

    def __init__(
        self,
        limits: PayloadLimits,
        patience_s: float = 60.0,
        previous: ControllerPayload | None = None,
    ) -> None:
        self.limits = limits
        self.patience_s = patience_s
        self.state = ExchangeState.IDLE
        self.current = previous
        self.previous: ControllerPayload | None = None
        self.proposal: Proposal | None = None
        self._sent: ControllerPayload | None = None
        self._uncertain = False

    def propose(self, payload: ControllerPayload, now_s: float) -> Proposal:
        """Store a payload for confirmation; it replaces an earlier proposal.

        Raises:
            ModelError: The payload is not plausible, or another one is being sent.
        """
        self._refuse_while_sending()
        self.proposal = None
        self.limits.require(payload)
        self.proposal = Proposal(secrets.token_hex(4), payload, now_s)
        self.state = ExchangeState.PROPOSED
        return self.proposal

    def confirm(self, now_s: float, proposal_id: str) -> ControllerPayload:
        """Confirm the proposed payload and return it; the caller sends it to the controller.

        Raises:
            ModelError: There is no proposal, it has another identifier, or it is too old.
        """
        self._refuse_while_sending()
        if self.proposal is None:
            raise ModelError(
                "No payload has been proposed.",
                remedy="Call `propose`, read its answer, then call `confirm`.",
            )
        if proposal_id != self.proposal.id:
            raise ModelError(
                f"The current proposal is not '{proposal_id}'.",
                remedy="Confirm with the id that `propose` answered, or propose again.",
            )
        payload, age_s = self.proposal.payload, now_s - self.proposal.proposed_at
        self.proposal = None
        if age_s > self.patience_s:
            self.state = ExchangeState.IDLE
            raise ModelError(
                f"The proposal is {age_s:.0f} s old, older than {self.patience_s:.0f} s.",
                remedy="Propose again, because the robot may hold another object by now.",
            )
        self._sent, self.state = payload, ExchangeState.SENDING
        return payload

    def succeeded(self) -> None:
        """Record that the controller has accepted the payload."""
        if self._sent is not None:
            self.previous, self.current = self.current, self._sent
        self._sent, self._uncertain, self.state = None, False, ExchangeState.SET

    def failed(self, *, untouched: bool = False) -> None:
        """Store that a payload was not set: the controller refused it, gave no answer, or reports another.

        Args:
            untouched: True if the controller certainly kept its previous payload.
        """
        if not untouched:
            self.previous, self.current = self.current or self.previous, None
            self._uncertain = True
        self._sent = None
        self.state = ExchangeState.FAILED if self._uncertain else ExchangeState.IDLE

    def roll_back(self) -> ControllerPayload:
        """Return the previous payload of the controller; the caller sends it to the controller.

        Raises:
            ModelError: The previous payload is unknown.
        """
        self._refuse_while_sending()
        if self.previous is None:
            raise ModelError(
                "The previous payload of the controller is unknown.",
                remedy="Set the payload at the robot's own panel, or give `initial_payload`.",
            )
        self.proposal = None
        self._sent, self.state = self.previous, ExchangeState.SENDING
        return self.previous

    def _refuse_while_sending(self) -> None:
        if self.state is ExchangeState.SENDING:
            raise ModelError(
                "A payload is being sent to the controller.",
                remedy="Wait for the answer of the controller, then try again.",
            )
