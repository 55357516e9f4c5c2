# SPDX-License-Identifier: Apache-2.0
"""`sysid report`: what is done with reports that exist already."""

from sysid_core.cli.report import index  # noqa: F401  (registers its command)
