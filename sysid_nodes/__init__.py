# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes. A node declares parameters, converts messages, calls `sysid_core` and publishes; it
contains no linear algebra.
"""
