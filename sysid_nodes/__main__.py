# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_nodes NODE ARGUMENTS...` runs a node, as its installed executable does."""

import importlib
import sys

from sysid_nodes.lifecycle import run_node


def main(executable: str) -> int:
    """Run a node, named as its package."""
    name = f"{executable.title().replace('_', '')}Node"
    return run_node(getattr(importlib.import_module(f"sysid_nodes.{executable}.node"), name))


if __name__ == "__main__":
    sys.exit(main(sys.argv.pop(1)))
