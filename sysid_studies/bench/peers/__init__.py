# SPDX-License-Identifier: Apache-2.0
"""Other identification packages on the same recordings: figaroh and mujoco.sysid, if they are
installed.
"""
