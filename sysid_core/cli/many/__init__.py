# SPDX-License-Identifier: Apache-2.0
"""Commands about many recordings, and what makes results repeatable."""

from sysid_core.cli.many import bench, certificate, fleet  # noqa: F401  (each registers its command)
