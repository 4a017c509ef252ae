# SPDX-License-Identifier: Apache-2.0
"""Notebooks: `%load_ext inferogram`, then `%%inferogram` at the top of a cell records it and shows the report."""
from __future__ import annotations

import os
import shlex
import tempfile
from typing import Any, List, Optional

from ._program import Error
from ._record import Recording
from ._trace import Trace

USAGE = 'usage: %%inferogram [-o FILE] [-f] [--no-report] [OPTIONS of inferogram record]'


def magic(shell: Any, line: str, cell: Optional[str]) -> Optional[Trace]:
    """The cell is recorded and runs as any other. `%inferogram FILE` shows a trace that exists."""
    words = shlex.split(line)
    if cell is None:
        if len(words) != 1:
            raise Error('usage: %inferogram FILE; %%inferogram records a cell')
        return Trace(os.path.expanduser(words[0]))
    path: Optional[str] = None
    force = show = True
    arguments: List[str] = []
    while words:
        word = words.pop(0)
        if word == '-o' and words:
            path, force = os.path.expanduser(words.pop(0)), False
        elif word == '--no-report':
            show = False
        elif word.startswith('-'):
            arguments.append(word)
        else:
            raise Error(f'{word!r} is not an option; {USAGE}')
    if '-f' in arguments:
        arguments.remove('-f')
        force = True
    if path is None:
        handle, path = tempfile.mkstemp(prefix='inferogram-cell-', suffix='.ifg')
        os.close(handle)
    with Recording(path, force, 'auto', arguments) as recording:
        shell.run_cell(cell)
    shell.user_ns['_inferogram'] = recording.trace
    return recording.trace if show else None


def load(ipython: Any) -> None:
    def inferogram(line: str, cell: Optional[str] = None) -> Optional[Trace]:
        return magic(ipython, line, cell)

    inferogram.__doc__ = f'Record a cell and show the report. {USAGE}'
    ipython.register_magic_function(inferogram, 'line_cell', 'inferogram')
