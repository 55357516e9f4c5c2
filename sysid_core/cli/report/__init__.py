# SPDX-License-Identifier: Apache-2.0
"""`sysid report`: what is done with reports that exist already."""

from sysid_core.cli.report import compare, index  # noqa: F401  (register their commands)
