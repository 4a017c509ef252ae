# SPDX-License-Identifier: Apache-2.0
"""Profile machine-learning inference, from Python.

    import inferogram

    with inferogram.record('run.ifg'):             # record this process
        with inferogram.zone('decode'):            # mark what it does
            ...

    trace = inferogram.open('run.ifg')             # read a recording
    trace.query('SELECT name, dur_ns FROM slice')  # Arrow, pandas, polars, or plain rows
    trace.findings

The guide is docs/python.md. Nothing here needs a package beyond Python's own; pyarrow, pandas and
polars are used where you ask for them.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from ._program import Error, program
    from ._record import Recording, record
    from ._trace import Diff, Report, Result, Trace, open
    from ._zones import Flow, Model, Zone, counter, event, flow, frame, is_recording, message, thread_name, zone
    from .handles import ModelReport, Profile, Stream, profile, stream

__all__ = ['Diff', 'Error', 'Flow', 'Model', 'ModelReport', 'Profile', 'Recording', 'Report', 'Result', 'Stream', 'Trace',
           'Zone', 'counter', 'event', 'flow', 'frame', 'is_recording', 'message', 'open', 'profile', 'program', 'record',
           'stream', 'thread_name', 'zone']

# Loaded when first used: the command of a wheel imports this package, too, and needs nothing of it.
_PLACES: Dict[str, str] = {
    **dict.fromkeys(('Error', 'program'), '_program'),
    **dict.fromkeys(('Recording', 'record'), '_record'),
    **dict.fromkeys(('Diff', 'Report', 'Result', 'Trace', 'open'), '_trace'),
    **dict.fromkeys(('Flow', 'Model', 'Zone', 'counter', 'event', 'flow', 'frame', 'is_recording', 'message',
                     'thread_name', 'zone'), '_zones'),
    **dict.fromkeys(('ModelReport', 'Profile', 'Stream', 'profile', 'stream'), 'handles'),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    # All at once: CPython finds names of a module faster when it has no function like this one any more.
    for each, place in _PLACES.items():
        globals()[each] = getattr(importlib.import_module('.' + place, __name__), each)
    globals().pop('__getattr__', None)
    return globals()[name]


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext inferogram` in a notebook."""
    from . import notebook
    notebook.load(ipython)
