# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_nodes NODE ARGUMENTS...` runs a node, as its installed executable does."""

import sys

from sysid_nodes.lifecycle import class_of, run_node

if __name__ == "__main__":
    sys.exit(run_node(class_of(sys.argv.pop(1), "Node")))
