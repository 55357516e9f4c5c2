# SPDX-License-Identifier: Apache-2.0
"""Displays of the running nodes: snapshot of the topics, `sysid watch`, and the rqt panels."""
