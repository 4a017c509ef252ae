# SPDX-License-Identifier: Apache-2.0
"""What of zones and flows is Python: decorators, awaiting, the points of a flow."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional, TypeVar

from . import _native
from ._native import Model, Zone, counter, event, frame, is_recording, message, thread_name, zone

__all__ = ['Flow', 'Model', 'Zone', 'counter', 'event', 'flow', 'frame', 'is_recording', 'message', 'thread_name', 'zone']

T = TypeVar('T')


async def ready(value: T) -> T:
    """What `async with` awaits: nothing takes time."""
    return value


def decorate(zone: _native.Zone, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in a zone each time it runs; a coroutine function in an async span."""
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def awaited(*args: Any, **keywords: Any) -> Any:
            async with zone._again():
                return await function(*args, **keywords)
        return awaited
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f'{function.__qualname__} is a generator: while it is suspended, other code runs in its zone; '
                        "put 'with zone(...)' around the work inside it")
    if not callable(function) or inspect.isclass(function):
        raise TypeError('a zone decorates a function')

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        with zone:
            return function(*args, **keywords)
    return called


class Flow:
    """Work that is handed on: an arrow from zone to zone, mostly across threads.

    Each point belongs to the innermost zone that is open on its thread. Call `begin()` once, before
    the next thread can get the work, then `step()` any number of times, and `end()` once.
    """

    __slots__ = ('name', 'id')

    def __init__(self, name: str, id: Optional[int] = None) -> None:
        self.name = name
        self.id = _native.new_id() if id is None else id

    def begin(self) -> Flow:
        _native.flow_point(self.name, self.id, 0)
        return self

    def step(self) -> Flow:
        _native.flow_point(self.name, self.id, 1)
        return self

    def end(self) -> None:
        _native.flow_point(self.name, self.id, 2)

    def __repr__(self) -> str:
        return f'inferogram.flow({self.name!r}, {self.id})'


def flow(name: str = 'flow', id: Optional[int] = None) -> Flow:
    """A flow with this name and id. Name and id connect its points; without an id, it gets a new one."""
    return Flow(name, id)


_native.set_helpers(ready, decorate)
