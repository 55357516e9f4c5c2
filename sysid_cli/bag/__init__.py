# SPDX-License-Identifier: Apache-2.0
"""`sysid bag`: one file a sub-command or two."""

from sysid_cli.bag.group import PathArgument, bag

__all__ = ["PathArgument", "bag"]
