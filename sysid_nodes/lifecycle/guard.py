# SPDX-License-Identifier: Apache-2.0
"""No message, request or tick can end a node: what goes wrong in a callback is reported."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sysid_core.errors import SysIdError

Report = Callable[[BaseException], str]


def _answer(arguments: tuple[Any, ...], words: str) -> Any:
    """The response of a service callback that failed, where there is one."""
    response = arguments[1] if len(arguments) == 2 else None
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, words
    return response


def guarded(callback: Callable[..., Any], report: Report) -> Callable[..., Any]:
    """A callback (a coroutine's too) whose errors are reported instead of raised.

    Args:
        callback: Callback of a subscription, timer or service.
        report: Called with the error; returns what a caller of a service is answered.
    """
    if inspect.iscoroutinefunction(callback):

        @functools.wraps(callback)
        async def coroutine(*arguments: Any) -> Any:
            try:
                return await callback(*arguments)
            except Exception as err:
                return _answer(arguments, report(err))

        return coroutine

    @functools.wraps(callback)
    def function(*arguments: Any) -> Any:
        try:
            return callback(*arguments)
        except Exception as err:
            return _answer(arguments, report(err))

    return function


def words_of(err: BaseException) -> str:
    """What a person reads: an error of ours as it is, any other with its type."""
    return str(err) if isinstance(err, SysIdError) else f"{type(err).__name__}: {err}"
