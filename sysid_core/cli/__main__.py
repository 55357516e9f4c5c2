# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_core.cli`."""

from sysid_core.cli.app import run

run()
