# SPDX-License-Identifier: Apache-2.0
"""Sending a controller its payload: proposed, confirmed by a person, read back, or rolled back.

The order of things, without any robot: the node only carries out what this says.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sysid_core.controller_payload.payload import ControllerPayload, PayloadLimits
from sysid_core.errors import ModelError
from sysid_core.kinds import Kind


class ExchangeState(Kind):
    """Where the exchange stands."""

    IDLE = "idle"
    PROPOSED = "proposed: waiting for confirmation"
    SENDING = "sending"
    SET = "set"
    FAILED = "failed: the controller's payload is uncertain"


@dataclass(frozen=True)
class Proposal:
    """A payload that waits for a person's yes.

    Attributes:
        id: That the yes must name, so that nobody confirms what another has proposed.
        payload: What would be sent.
        proposed_at: When, on the caller's clock [s].
    """

    id: str
    payload: ControllerPayload
    proposed_at: float


class PayloadExchange:
    """State machine of one controller's payload. Nothing is ever sent without `confirm`.

    Args:
        limits: What is plausible.
        patience_s: How long a proposal stays valid [s]; after that the world may have changed.
        previous: What the controller has now, if known: the aim of a rollback.
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
        """Freeze a payload for confirmation; another proposal is forgotten.

        Raises:
            ModelError: It isn't plausible, or another one is on its way.
        """
        self._refuse_while_sending()
        self.proposal = None
        self.limits.require(payload)
        self.proposal = Proposal(secrets.token_hex(4), payload, now_s)
        self.state = ExchangeState.PROPOSED
        return self.proposal

    def confirm(self, now_s: float, proposal_id: str) -> ControllerPayload:
        """The frozen payload, to be sent now.

        Raises:
            ModelError: Nothing is proposed, something else is, or it is too long ago.
        """
        self._refuse_while_sending()
        if self.proposal is None:
            raise ModelError(
                "No payload has been proposed.",
                remedy="Call `propose`, read what it answers, then `confirm`.",
            )
        if proposal_id != self.proposal.id:
            raise ModelError(
                f"The proposal that waits isn't '{proposal_id}'.",
                remedy="Confirm with the id that `propose` answered, or propose again.",
            )
        payload, age_s = self.proposal.payload, now_s - self.proposal.proposed_at
        self.proposal = None
        if age_s > self.patience_s:
            self.state = ExchangeState.IDLE
            raise ModelError(
                f"The proposal is {age_s:.0f} s old, older than {self.patience_s:.0f} s.",
                remedy="Propose again: something else may be held by now.",
            )
        self._sent, self.state = payload, ExchangeState.SENDING
        return payload

    def succeeded(self) -> None:
        """The controller has what was sent."""
        if self._sent is not None:
            self.previous, self.current = self.current, self._sent
        self._sent, self._uncertain, self.state = None, False, ExchangeState.SET

    def failed(self, *, untouched: bool = False) -> None:
        """The controller refused, didn't answer, or reports something else.

        Args:
            untouched: It is certain that it kept what it had.
        """
        if not untouched:
            self.previous, self.current = self.current or self.previous, None
            self._uncertain = True
        self._sent = None
        self.state = ExchangeState.FAILED if self._uncertain else ExchangeState.IDLE

    def roll_back(self) -> ControllerPayload:
        """What the controller had before, to be sent now.

        Raises:
            ModelError: It isn't known.
        """
        self._refuse_while_sending()
        if self.previous is None:
            raise ModelError(
                "What the controller had before isn't known.",
                remedy="Set the payload at the robot's own panel, or give `initial_payload`.",
            )
        self.proposal = None
        self._sent, self.state = self.previous, ExchangeState.SENDING
        return self.previous

    def _refuse_while_sending(self) -> None:
        if self.state is ExchangeState.SENDING:
            raise ModelError(
                "A payload is being sent.", remedy="Wait for its answer, then try again."
            )
