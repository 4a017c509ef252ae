# SPDX-License-Identifier: Apache-2.0
"""The program `inferogram`: where it is, how it is run, and how its failures become exceptions."""
from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, List, Optional, Sequence

FOLDER = os.path.dirname(os.path.abspath(__file__))
BUNDLED = os.path.join(FOLDER, '_tree', 'bin', 'inferogram')


class Error(RuntimeError):
    """Something that `inferogram` could not do. The message is its own; `status` is its exit status."""

    __module__ = 'inferogram'

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


def program() -> str:
    """The path of the program: the one of this package, else `$INFEROGRAM`, else the first on PATH."""
    if os.access(BUNDLED, os.X_OK):
        return BUNDLED
    given = os.environ.get('INFEROGRAM')
    if given:
        if os.path.isfile(given) and os.access(given, os.X_OK):
            return given
        raise Error(f'INFEROGRAM is {given!r}, which is not a program')
    found = shutil.which('inferogram')
    if found:
        return found
    raise Error("the program 'inferogram' is not in this package and not on PATH; install it, or set INFEROGRAM "
                'to its path')


def said(stderr: bytes) -> str:
    """What the program printed on stderr, without its name in front of each line."""
    lines = stderr.decode('utf-8', 'replace').strip().splitlines()
    name = 'inferogram: '
    return '\n'.join(line[len(name):] if line.startswith(name) else line for line in lines)


def failure(status: int, stderr: bytes) -> Error:
    message = said(stderr)
    if status < 0:
        message = (message + '\n' if message else '') + f'inferogram was ended by signal {-status}'
    return Error(message or f'inferogram ended with status {status}', status)


def run(arguments: Sequence[str], *, stdout: Any = subprocess.PIPE, allowed: Sequence[int] = (0,),
        stdin: Optional[bytes] = None) -> subprocess.CompletedProcess[bytes]:
    """Runs the program to its end; raises Error unless its status is allowed."""
    command: List[str] = [program(), *arguments]
    done = subprocess.run(command, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, stdout=stdout,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode not in allowed:
        raise failure(done.returncode, done.stderr)
    return done
