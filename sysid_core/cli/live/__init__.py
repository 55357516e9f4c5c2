# SPDX-License-Identifier: Apache-2.0
"""Commands that need ROS: it is imported only when one of them is called."""

from sysid_core.cli.live import (  # noqa: F401  (each registers its command)
    replay,
    robot,
    run,
    up,
    watch,
)
