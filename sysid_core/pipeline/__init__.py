# SPDX-License-Identifier: Apache-2.0
"""From recordings to a judged identification: what `sysid identify` does, as functions.

Heavy rooms are imported when a function is called: `sysid --help` imports this door.
"""

from sysid_core.pipeline.arm import ArmRun, identify_arm, write_back
from sysid_core.pipeline.recordings import drives_of, is_bag, load_recording

__all__ = ["ArmRun", "drives_of", "identify_arm", "is_bag", "load_recording", "write_back"]
