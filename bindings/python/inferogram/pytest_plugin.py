# SPDX-License-Identifier: Apache-2.0
"""pytest: a trace for each test (`--inferogram`), and budgets as a marker.

    @pytest.mark.inferogram_gate('inference.p99=50ms', 'load.max=2s')
    def test_ocr():
        ...

The marker's budgets are those of `inferogram gate --trace FILE --max`; docs/gate.md describes them.
"""
from __future__ import annotations

import os
import re
import warnings
from typing import Any, Generator, List

import pytest

from ._program import Error, run
from ._record import record

OPTION = '--inferogram'
MARKER = 'inferogram_gate'
FOLDER = 'inferogram-traces'


class InferogramWarning(UserWarning):
    """A gate that could not decide."""


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup('inferogram')
    group.addoption(OPTION, nargs='?', const=FOLDER, default=None, metavar='FOLDER',
                    help=f'record every test into a trace of its own in FOLDER [{FOLDER}]')


def pytest_configure(config: Any) -> None:
    config.addinivalue_line('markers', f'{MARKER}(*budgets, min=(), on_unsure="warn"): record the test and fail it if its '
                            'trace exceeds a budget such as "inference.p99=50ms"')


def trace_path(item: Any) -> str:
    folder = item.config.getoption(OPTION)
    if folder is None:
        folder = str(item.config.rootpath / '.pytest_cache' / 'inferogram')
    os.makedirs(folder, exist_ok=True)
    return os.path.abspath(os.path.join(folder, re.sub(r'[^\w.-]+', '_', item.nodeid)[-180:].strip('_') + '.ifg'))


def _words(value: Any) -> List[str]:
    return [value] if isinstance(value, str) else list(value)


def judge(path: str, budgets: List[str], least: List[str], on_unsure: str) -> None:
    """Raises pytest's failure if a budget is exceeded; warns, fails or passes if that cannot be told."""
    if on_unsure not in ('warn', 'fail', 'pass'):
        raise Error(f"on_unsure cannot be {on_unsure!r}: it is 'warn', 'fail' or 'pass'")
    arguments = [word for budget in budgets for word in ('--max', budget)]
    arguments += [word for budget in least for word in ('--min', budget)]
    done = run(['gate', '--trace', path, *arguments], allowed=(0, 1, 3, 4))
    text = done.stdout.decode('utf-8', 'replace').strip()
    if done.returncode == 1 or (done.returncode in (3, 4) and on_unsure == 'fail'):
        pytest.fail(f'{text}\ntrace: {path}', pytrace=False)
    if done.returncode in (3, 4) and on_unsure == 'warn':
        warnings.warn(InferogramWarning(text), stacklevel=1)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, None]:
    gates = list(item.iter_markers(MARKER))
    if not gates and item.config.getoption(OPTION) is None:
        yield
        return
    path = trace_path(item)
    recording = record(path, force=True).start()
    outcome = yield
    try:
        recording.stop()
        item.user_properties.append(('inferogram', path))
        item.add_report_section('call', 'inferogram', f'trace: {path}')
        for gate in gates if outcome.excinfo is None else ():
            judge(path, [*gate.args, *_words(gate.kwargs.get('max', ()))], _words(gate.kwargs.get('min', ())),
                  gate.kwargs.get('on_unsure', 'warn'))
    except Error as error:
        outcome.force_exception(pytest.fail.Exception(str(error), pytrace=False))
    except BaseException as error:  # pytest's own failures are not Exceptions
        outcome.force_exception(error)
