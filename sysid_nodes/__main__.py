# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_nodes NODE ARGUMENTS...` runs a node, as its installed executable does."""

import importlib
import sys

if __name__ == "__main__":
    node = sys.argv.pop(1)
    sys.exit(importlib.import_module(f"sysid_nodes.{node}.node").main())
