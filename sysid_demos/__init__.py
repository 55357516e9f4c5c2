# SPDX-License-Identifier: Apache-2.0
"""Whole identifications on simulated robots, live, each with a report: `sysid up demo`."""
