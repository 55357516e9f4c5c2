# SPDX-License-Identifier: Apache-2.0
"""Commands that need ROS: it is imported only when one of them is called."""
