# SPDX-License-Identifier: Apache-2.0
"""Arrays of frozen dataclasses: own, read-only copies of the right shape."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import SysIdError


def own_arrays(
    owner: object,
    error: type[SysIdError],
    remedy: str,
    of: str = "",
    *,
    finite: bool = False,
    **shapes: tuple[int, ...],
) -> None:
    """Replace attributes of a frozen dataclass by read-only copies, after a check of their shapes.

    Args:
        owner: Dataclass.
        error: Class of the raised error.
        remedy: Recommended action of the error.
        of: Name of the owner in the error; "": none.
        finite: True to refuse NaN and infinite values.
        shapes: Required shapes, by name of the attribute.

    Raises:
        SysIdError: An array has another shape, or values that are not finite.
    """
    for key, shape in shapes.items():
        array = np.array(getattr(owner, key), dtype=float)
        what = f"'{key}' of {of}" if of else f"'{key}'"
        if array.shape != shape:
            raise error(f"{what} has shape {array.shape}, expected {shape}.", remedy=remedy)
        if finite and not np.all(np.isfinite(array)):
            raise error(f"{what} holds NaN or infinite values.", remedy=remedy)
        array.setflags(write=False)
        object.__setattr__(owner, key, array)
