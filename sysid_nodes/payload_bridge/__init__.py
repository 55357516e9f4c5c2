# SPDX-License-Identifier: Apache-2.0
"""Node that transfers a payload to a vendor's controller."""

__all__: list[str] = []
