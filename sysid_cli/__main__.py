# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_cli`."""

from sysid_cli.app import run

run()
