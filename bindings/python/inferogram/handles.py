# SPDX-License-Identifier: Apache-2.0
"""A service that profiles its own models, without a recorder and without a file: stream() and profile().

libinferogram-handles does the work; docs/handles.md describes what it reports. It is loaded when the
first handle is created.
"""
from __future__ import annotations

import collections
import ctypes
import os
import threading
import weakref
from typing import Any, Callable, Deque, Dict, NamedTuple, Optional, Tuple, Union

from ._native import Model
from ._program import Error
from ._record import hooks_folder, watch_runtimes

SONAME = 'libinferogram-handles.so.0'
KEPT = 1000  # reports of a handle without a callback

TYPES = {'latency': 0, 'trace': 1}
SAMPLING = {'full': 0, 'half': 1, 'fourth': 2, 'eighth': 3, 'sixteenth': 4}


class ModelReport(NamedTuple):
    """One report of a stream or profile."""

    text: str  #: a latency table in the format of AIC100's files, or Chrome's JSON trace format
    samples: int  #: inferences in the report
    requested: int  #: profile: as many as you asked for; stream: inferences that happened
    lost: int  #: inferences of all models that came too fast to be kept
    missing: str  #: why columns of a latency table are N/A; '' if none is


class _CReport(ctypes.Structure):
    _fields_ = [('text', ctypes.c_void_p), ('length', ctypes.c_size_t), ('samples', ctypes.c_uint64),
                ('requested', ctypes.c_uint64), ('type', ctypes.c_int), ('lost', ctypes.c_uint64),
                ('missing', ctypes.c_char_p)]


_Callback = ctypes.CFUNCTYPE(None, ctypes.POINTER(_CReport), ctypes.c_void_p)


class _ProfileOptions(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('model', ctypes.c_void_p), ('samples', ctypes.c_uint64),
                ('type', ctypes.c_int), ('callback', _Callback), ('user', ctypes.c_void_p)]


class _StreamOptions(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('report_ms', ctypes.c_uint32), ('sampling', ctypes.c_int),
                ('type', ctypes.c_int), ('regex', ctypes.c_char_p), ('glob', ctypes.c_char_p),
                ('name', ctypes.c_char_p), ('callback', _Callback), ('user', ctypes.c_void_p)]


_library: Optional[ctypes.CDLL] = None
_lock = threading.Lock()


def _load() -> ctypes.CDLL:
    """The calls give up the interpreter's lock: some wait for a callback, which needs it."""
    global _library
    with _lock:
        if _library is None:
            folder = hooks_folder()
            paths = [os.path.join(os.path.dirname(folder), SONAME)] if folder else []
            library = None
            for path in [*paths, SONAME]:
                try:
                    library = ctypes.CDLL(path)
                    break
                except OSError:
                    continue
            if library is None:
                raise Error(f'{SONAME} cannot be loaded; install all of Inferogram')
            library.ifg_handle_error.restype = ctypes.c_char_p
            library.ifg_model_find.restype = ctypes.c_void_p
            library.ifg_model_find.argtypes = [ctypes.c_char_p]
            for name in ('profile', 'stream'):
                for verb in ('start', 'stop', 'destroy'):
                    getattr(library, f'ifg_{name}_{verb}').argtypes = [ctypes.c_void_p]
            library.ifg_stream_flush.argtypes = [ctypes.c_void_p]
            library.ifg_stream_add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            library.ifg_stream_remove.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            _library = library
    return _library


def _number(names: Dict[str, int], value: str, what: str) -> int:
    if value not in names:
        raise ValueError(f'{what} cannot be {value!r}: it is one of {", ".join(names)}')
    return names[value]


class _Handle:
    kind = ''

    def __init__(self, callback: Optional[Callable[[ModelReport], object]]) -> None:
        self.reports: Deque[ModelReport] = collections.deque(maxlen=KEPT)
        """The latest reports, if there is no callback."""
        self._library = _load()
        self._address = ctypes.c_void_p()
        reports = self.reports

        def take(pointer: Any, user: Any) -> None:
            got = pointer.contents
            report = ModelReport(ctypes.string_at(got.text, got.length).decode('utf-8', 'replace'), got.samples,
                                 got.requested, got.lost, (got.missing or b'').decode('utf-8', 'replace'))
            if callback is None:
                reports.append(report)
            else:
                callback(report)

        self._callback = _Callback(take)

    def _check(self, status: int) -> None:
        if status < 0:
            raise Error(self._library.ifg_handle_error().decode('utf-8', 'replace'), -status)

    def _create(self, options: ctypes.Structure) -> None:
        create = getattr(self._library, f'ifg_{self.kind}_create')
        self._check(create(ctypes.byref(options), ctypes.byref(self._address)))
        destroy = getattr(self._library, f'ifg_{self.kind}_destroy')
        # The callback outlives the handle: it is an argument of what destroys it.
        self._finish = weakref.finalize(self, _destroy, destroy, self._address.value or 0, self._callback)

    def _model(self, model: Union[Model, str]) -> int:
        if isinstance(model, Model):
            return model._address
        found: Optional[int] = self._library.ifg_model_find(model.encode())
        if not found:
            raise Error(f'there is no model {model!r} yet')
        return found

    def start(self) -> None:
        """Cover the inferences that begin from now on."""
        watch_runtimes()
        self._check(getattr(self._library, f'ifg_{self.kind}_start')(self._address))

    def stop(self) -> None:
        """Stop, with a last report if there is something to report."""
        self._check(getattr(self._library, f'ifg_{self.kind}_stop')(self._address))

    def __exit__(self, *exception: object) -> None:
        self.stop()


def _destroy(destroy: Any, address: int, callback: Any) -> None:
    destroy(ctypes.c_void_p(address))


class Profile(_Handle):
    """A number of inferences of one model, reported once. See profile()."""

    kind = 'profile'

    def __init__(self, model: Union[Model, str], samples: int, callback: Optional[Callable[[ModelReport], object]],
                 type: str) -> None:
        super().__init__(callback)
        self._create(_ProfileOptions(ctypes.sizeof(_ProfileOptions), self._model(model), samples,
                                     _number(TYPES, type, 'type'), self._callback, None))

    def __enter__(self) -> Profile:
        self.start()
        return self


class Stream(_Handle):
    """Reports about models at a fixed rate. See stream()."""

    kind = 'stream'

    def __init__(self, callback: Optional[Callable[[ModelReport], object]], models: Tuple[Union[Model, str], ...],
                 regex: Optional[str], glob: Optional[str], every: float, sampling: str, type: str, name: Optional[str]) -> None:
        super().__init__(callback)
        texts = [None if text is None else text.encode() for text in (regex, glob, name)]
        self._create(_StreamOptions(ctypes.sizeof(_StreamOptions), int(every * 1000), _number(SAMPLING, sampling, 'sampling'),
                                    _number(TYPES, type, 'type'), *texts, self._callback, None))
        for model in models:
            self.add(model)

    def __enter__(self) -> Stream:
        self.start()
        return self

    def flush(self) -> None:
        """Report at once; returns after the callback has."""
        self._check(self._library.ifg_stream_flush(self._address))

    def add(self, model: Union[Model, str]) -> None:
        """Cover this model too."""
        self._check(self._library.ifg_stream_add(self._address, self._model(model)))

    def remove(self, model: Union[Model, str]) -> None:
        """Cover this model no longer."""
        self._check(self._library.ifg_stream_remove(self._address, self._model(model)))


def profile(model: Union[Model, str], samples: int, callback: Optional[Callable[[ModelReport], object]] = None, *,
            type: str = 'latency') -> Profile:
    """A report about the next `samples` inferences of a model, a Model or the name of one that was
    loaded. The callback runs on a thread of the library; without one, see `reports`."""
    return Profile(model, samples, callback, type)


def stream(callback: Optional[Callable[[ModelReport], object]] = None, *, models: Tuple[Union[Model, str], ...] = (),
           regex: Optional[str] = None, glob: Optional[str] = None, every: float = 0.5, sampling: str = 'full',
           type: str = 'latency', name: Optional[str] = None) -> Stream:
    """A report every `every` seconds of the wall clock, about these models and those whose names match.
    `sampling` is 'full', 'half', 'fourth', 'eighth' or 'sixteenth'; `type` is 'latency' or 'trace'."""
    return Stream(callback, models, regex, glob, every, sampling, type, name)


