"""Telling a controller its payload: proposed, confirmed by a person, read back, or rolled back.

The order of things, without any robot: the node only carries out what this says.
"""

from __future__ import annotations

from enum import Enum

from sysid_core.controller_payload.payload import ControllerPayload, PayloadLimits
from sysid_core.errors import ModelError


class ExchangeState(str, Enum):
    """Where the exchange stands."""

    IDLE = "idle"
    PROPOSED = "proposed: waiting for confirmation"
    SENDING = "sending"
    SET = "set"
    FAILED = "failed: the controller's payload is uncertain"


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
        self._proposal: tuple[ControllerPayload, float] | None = None
        self._sent: ControllerPayload | None = None
        self._uncertain = False

    def propose(self, payload: ControllerPayload, now_s: float) -> None:
        """Freeze a payload for confirmation.

        Raises:
            ModelError: It isn't plausible, or another one is on its way.
        """
        self._refuse_while_sending()
        self._proposal = None
        self.limits.require(payload)
        self._proposal = (payload, now_s)
        self.state = ExchangeState.PROPOSED

    def confirm(self, now_s: float) -> ControllerPayload:
        """The frozen payload, to be sent now.

        Raises:
            ModelError: Nothing is proposed, or too long ago.
        """
        self._refuse_while_sending()
        if self._proposal is None:
            raise ModelError(
                "No payload has been proposed.",
                remedy="Call `propose`, read what it answers, then `confirm`.",
            )
        payload, then = self._proposal
        self._proposal = None
        if now_s - then > self.patience_s:
            self.state = ExchangeState.IDLE
            raise ModelError(
                f"The proposal is {now_s - then:.0f} s old, older than {self.patience_s:.0f} s.",
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
        self._proposal = None
        self._sent, self.state = self.previous, ExchangeState.SENDING
        return self.previous

    def _refuse_while_sending(self) -> None:
        if self.state is ExchangeState.SENDING:
            raise ModelError(
                "A payload is being sent.", remedy="Wait for its answer, then try again."
            )
