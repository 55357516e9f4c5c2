# SPDX-License-Identifier: Apache-2.0
"""No message, request or tick can end a node: what goes wrong in a callback is told."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sysid_core.errors import SysIdError

Told = Callable[[BaseException], str]


def _answer(arguments: tuple[Any, ...], words: str) -> Any:
    """The response of a service callback that failed, where there is one."""
    response = arguments[1] if len(arguments) == 2 else None
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, words
    return response


def guarded(callback: Callable[..., Any], tell: Told) -> Callable[..., Any]:
    """A callback (a coroutine's too) whose errors are told instead of raised.

    Args:
        callback: Of a subscription, timer or service.
        tell: Called with the error; returns what a caller of a service is answered.
    """
    if inspect.iscoroutinefunction(callback):

        @functools.wraps(callback)
        async def coroutine(*arguments: Any) -> Any:
            try:
                return await callback(*arguments)
            except Exception as err:
                return _answer(arguments, tell(err))

        return coroutine

    @functools.wraps(callback)
    def function(*arguments: Any) -> Any:
        try:
            return callback(*arguments)
        except Exception as err:
            return _answer(arguments, tell(err))

    return function


def words_of(err: BaseException) -> str:
    """What a person is told: an error of ours as it is, any other with its type."""
    return str(err) if isinstance(err, SysIdError) else f"{type(err).__name__}: {err}"
