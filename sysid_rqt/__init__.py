# SPDX-License-Identifier: Apache-2.0
"""Panels for rqt: nodes and motion, estimates, and the payload in the robot's controller."""
