# SPDX-License-Identifier: Apache-2.0
"""rqt panels: the graph and the motion, the estimate, and what is sent to the robot's controller."""
