# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`."""

from sysid_cli.identify.again import identify_again

__all__ = ["identify_again"]
