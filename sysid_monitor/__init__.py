# SPDX-License-Identifier: Apache-2.0
"""Displays of the running nodes: a view of the graph, `sysid watch`, and the rqt panels."""
