# SPDX-License-Identifier: Apache-2.0
"""Recording this process: the recorder is a child of ours that attaches to us.

Zones and events reach it through libinferogram, which the extension has brought. Runtimes in Python
packages (onnxruntime, iree) are watched by the same import hook that `inferogram record -- CMD`
uses; it is loaded here when the first recording begins.
"""
from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from types import ModuleType, TracebackType
from typing import IO, Any, Dict, List, Optional, Type, Union

from . import _native
from ._program import Error, program, said
from ._trace import Trace

POLL_S = 0.005
START_S = 60.0  # a recorder that has not begun by then hangs
MESSAGES_MAX = 1 << 20
STOP_S = 300.0  # names of samples are looked up at the end

Option = Union[None, bool, int, float, str, List[str]]


# ---- runtimes -----------------------------------------------------------------------------------

def hooks_folder() -> Optional[str]:
    """The folder of the import hook: installed beside the program, in a wheel, or in a build tree."""
    candidates = [os.environ.get('IFG_HOOKS_DIR', '')]
    try:
        above = os.path.dirname(os.path.dirname(os.path.realpath(program())))
        candidates += [os.path.join(above, lib, 'inferogram', 'hooks')
                       for lib in ('lib', f'lib/{os.uname().machine}-linux-gnu', 'lib64')]
        candidates += [os.path.join(os.path.dirname(above), 'hooks')]
    except Error:  # handles work without the program
        pass
    for candidate in candidates:
        found = os.path.join(candidate, 'python')
        if candidate and os.path.isfile(os.path.join(found, 'sitecustomize.py')):
            return found
    return None


def _load(folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location('_inferogram_waiter', os.path.join(folder, 'sitecustomize.py'))
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watch_runtimes() -> bool:
    """Wraps the runtimes that are imported already, and waits for the others. True: they are watched."""
    if any(type(finder).__name__ == 'ImportWaiter' for finder in sys.meta_path) or 'inferogram_hook' in sys.modules:
        return True
    folder = hooks_folder()
    if folder is None:
        return False
    try:
        waiting: Any = _load(folder)
        waiter = waiting.ImportWaiter()
        hook = waiting.hook()
        for name in sorted(waiter.names):
            if name in sys.modules:
                finish = hook.begin(name)
                if finish is not None:
                    finish(sys.modules[name])
                waiter.names.discard(name)
        if waiter.names:
            sys.meta_path.insert(0, waiter)
    except Exception:  # the program is more important than what is seen of it
        return False
    return True


# ---- the recorder -------------------------------------------------------------------------------

def _arguments(options: Dict[str, Option]) -> List[str]:
    """Keyword arguments as options of `inferogram record`: ops=True, sample=499, resources=False."""
    words: List[str] = []
    for name, value in options.items():
        option = name.replace('_', '-')
        if value is None:
            continue
        if value is False:
            words += [f'--no-{option}'] if name in ('sample', 'resources') else []
        elif value is True:
            words.append(f'--{option}')
        else:
            words += [f'--{option}={each}' for each in (value if isinstance(value, list) else [value])]
    return words


class Recording:
    """A recording of this process, from `start()` to `stop()` or for a `with` block."""

    def __init__(self, path: str, force: bool, hook: str, arguments: List[str]) -> None:
        self.path = os.path.abspath(path)
        self.messages: List[str] = []
        """What the recorder has printed: warnings, what was lost, where the file is."""
        self._force, self._hook, self._arguments = force, hook, arguments
        self._child: Optional[subprocess.Popen[bytes]] = None
        self._stderr: Optional[IO[bytes]] = None

    def _read(self) -> str:
        if self._stderr is None:
            return ''
        # No seek: the recorder writes at the same offset.
        return said(os.pread(self._stderr.fileno(), MESSAGES_MAX, 0))

    def _forget(self) -> None:
        self.messages = self._read().splitlines()
        if self._stderr is not None:
            self._stderr.close()
        self._child = self._stderr = None
        _native.allow_tracer(0)

    def _failure(self, status: int) -> Error:
        self._forget()
        if status < 0:
            return Error(f'the recorder was ended by signal {-status}; the trace has what it had written by then', status)
        return Error('\n'.join(self.messages) or f'the recorder ended with status {status}', status)

    def start(self) -> Recording:
        """Start the recorder; returns when it records. Raises Error with the recorder's own words."""
        if self._child is not None:
            raise Error('this recording has begun already')
        hook = self._hook
        if hook == 'auto' and watch_runtimes():
            hook = 'none'  # probes would see the same runs once more
        command = [program(), 'record', '--pid', str(os.getpid()), '-o', self.path, *(['-f'] if self._force else []),
                   '--hook', hook, *self._arguments]
        self._stderr = tempfile.TemporaryFile()
        # It waits for a line: by then we have allowed it to trace us, which kernels let only parents do by default.
        self._child = subprocess.Popen(['/bin/sh', '-c', 'read -r _ && exec "$@"', 'sh', *command],
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr,
                                       start_new_session=True)
        _native.allow_tracer(self._child.pid)
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(b'\n')
            self._child.stdin.close()
        except BrokenPipeError:
            pass
        self._await()
        return self

    def _await(self) -> None:
        child = self._child
        assert child is not None
        deadline = time.monotonic() + START_S
        while child.poll() is None:
            if _native.is_recording() and any(line.startswith('recording ') for line in self._read().splitlines()):
                return
            if time.monotonic() > deadline:
                child.kill()
                child.wait()
                self._forget()
                raise Error(f'the recorder did not begin within {START_S:.0f} s: ' + ' '.join(self.messages))
            time.sleep(POLL_S)
        raise self._failure(child.returncode)

    def stop(self) -> Optional[Trace]:
        """Stop the recorder and wait until the file is complete. Returns the trace; None if there was nothing to stop."""
        child = self._child
        if child is None:
            return None
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        try:
            status = child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            status = child.wait()
        if status != 0:
            raise self._failure(status)
        self._forget()
        return self.trace

    @property
    def trace(self) -> Trace:
        """The trace, once the recording has ended."""
        if self._child is not None:
            raise Error('the recording has not ended')
        return Trace(self.path)

    def __enter__(self) -> Recording:
        return self.start()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 where: Optional[TracebackType]) -> None:
        try:
            self.stop()
        except Error:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f'<inferogram recording to {self.path!r}{", running" if self._child is not None else ""}>'


def record(path: Union[None, str, os.PathLike[str]] = None, *, force: bool = False, hook: str = 'auto',
           **options: Option) -> Recording:
    """Record this process: `with inferogram.record('run.ifg'):`, or call `start()` and `stop()` on the result.

    Other keyword arguments are options of `inferogram record`: `ops=True`, `sample=499`,
    `sample=False`, `resources=10`, `memory=True`, `max_size='500M'`. An existing file is kept
    unless `force` is true.
    """
    if path is None:
        path = f'inferogram-python-{os.getpid()}-{time.strftime("%H%M%S")}.ifg'
    return Recording(os.fspath(path), force, hook, _arguments(options))
