# SPDX-License-Identifier: Apache-2.0
"""A recorded bag as a live robot."""

__all__ = []
