# SPDX-License-Identifier: Apache-2.0
"""What people look at while the nodes run: a view of the graph, `sysid watch`, and the rqt panels."""
