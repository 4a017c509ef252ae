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

from typing import Any

from ._native import Model, Zone, counter, event, frame, is_recording, message, thread_name, zone
from ._program import Error, program
from ._record import Recording, record
from ._trace import Diff, Report, Result, Trace, open
from ._zones import Flow, flow
from .handles import ModelReport, Profile, Stream, profile, stream

__all__ = ['Diff', 'Error', 'Flow', 'Model', 'ModelReport', 'Profile', 'Recording', 'Report', 'Result', 'Stream', 'Trace',
           'Zone', 'counter', 'event', 'flow', 'frame', 'is_recording', 'message', 'open', 'profile', 'program', 'record',
           'stream', 'thread_name', 'zone']


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext inferogram` in a notebook."""
    from . import notebook
    notebook.load(ipython)
