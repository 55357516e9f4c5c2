# SPDX-License-Identifier: Apache-2.0
"""Identification in a separate process: `python -m sysid_core.workflows JOB.json`.

The job contains `settings` (plain data of `IdentifySettings`, or of `ServoSettings` if `servos` is
true) and `out`, the folder of the results. Standard output has one JSON object per line: `{"step",
"share"}` during the run, and at the end `{"outcome"}` or `{"error", "remedy"}`. The exit status is
0 for a result that may be used, 1 for one that must not be used, and 2 for an error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sysid_core.errors import SysIdError
from sysid_core.progress import Step
from sysid_core.settings import build_settings
from sysid_core.workflows.identification import IdentifiedArm
from sysid_core.workflows.servos import IdentifiedServos, identify_servos
from sysid_core.workflows.settings import IdentifySettings, ServoSettings


def main(path: Path) -> int:
    """Run a job, and return the exit status."""
    job = json.loads(path.read_text(encoding="utf-8"))
    try:
        found: IdentifiedArm | IdentifiedServos
        if job.get("servos"):
            found = identify_servos(build_settings(ServoSettings, job["settings"]), _say_step)
        else:
            found = IdentifiedArm.from_files(
                build_settings(IdentifySettings, job["settings"]), _say_step
            )
        found.write(Path(job["out"]))
    except SysIdError as err:
        _say(error=err.message, remedy=err.remedy)
        return 2
    _say(outcome=found.verdict.outcome.value)
    return found.verdict.exit_status


def _say_step(step: Step) -> None:
    _say(step=step.code, share=step.share)


def _say(**event: str | float) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
