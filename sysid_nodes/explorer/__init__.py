# SPDX-License-Identifier: Apache-2.0
"""Node that moves a robot until its parameters are known with the requested accuracy."""

__all__: list[str] = []
