# SPDX-License-Identifier: Apache-2.0
"""`pip install .`: the core and the `sysid` command, without ROS. What it is, pyproject.toml says."""

from setuptools import setup

setup()
