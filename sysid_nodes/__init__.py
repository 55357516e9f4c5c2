# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: they declare, convert, call the core and publish. No linear algebra here."""
