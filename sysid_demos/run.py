# SPDX-License-Identifier: Apache-2.0
"""`sysid up demo`: a complete live identification of a simulated robot, with a report."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from sysid_core.errors import SysIdError
from sysid_nodes.client import own_domain

SCENARIOS = ("payload", "leg")


def run(scenario: str, out: Path, *, namespace: str = "", fast: bool = False) -> int:
    """Run a demo in a separate ROS domain, and return the exit status."""
    if scenario not in SCENARIOS:
        raise SysIdError(
            f"No scenario '{scenario}'.", remedy=f"Choose one of: {', '.join(SCENARIOS)}."
        )
    play = importlib.import_module(f"sysid_demos.{scenario}").play
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with own_domain() as environment:
        os.environ.update(environment)
        try:
            return int(play(out, namespace=namespace, fast=fast))
        except KeyboardInterrupt:
            return 130
