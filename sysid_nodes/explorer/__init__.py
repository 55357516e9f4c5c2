# SPDX-License-Identifier: Apache-2.0
"""Node that moves a robot until its parameters are known as accurately as requested."""

__all__: list[str] = []
