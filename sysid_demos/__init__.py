# SPDX-License-Identifier: Apache-2.0
"""Demos: complete live identifications of simulated robots, each with a report (`sysid up demo`)."""
