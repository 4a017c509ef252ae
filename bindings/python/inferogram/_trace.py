# SPDX-License-Identifier: Apache-2.0
"""Reading recordings: SQL, the report, findings, differences.

The program `inferogram` reads the trace, in a process of its own: whatever a trace contains, this
process stays unharmed. A result comes back in shared memory as an Arrow table and is never copied.
"""
from __future__ import annotations

import html
import importlib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _native
from ._program import Error, run

Row = Tuple[Union[None, int, float, str], ...]

PREVIEW_ROWS = 10
REPORT_HEIGHT = 720  # pixels of a report in a notebook


def _package(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'{method} needs the package {name}: pip install {name}') from error


class Result:
    """The rows of a query.

    Anything that knows Arrow's PyCapsule interface takes it as it is: `pyarrow.table(result)`,
    `polars.DataFrame(result)`, `duckdb.sql('FROM result')`. Without such a package, iterate over it
    or call `rows()`. Integers are 64 bits wide, and columns of texts are dictionaries.
    """

    def __init__(self, table: _native.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> Tuple[str, ...]:
        """The names of the columns."""
        return self._table.columns

    @property
    def nbytes(self) -> int:
        """The size of the table in memory."""
        return self._table.nbytes

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Row]:
        for batch in range(self._table.batches):
            yield from self._table.rows(batch)

    def rows(self) -> List[Row]:
        """All rows, as tuples."""
        return list(self)

    def to_dicts(self) -> List[Dict[str, Union[None, int, float, str]]]:
        """All rows, each a dictionary from column to value."""
        names = self.columns
        return [dict(zip(names, row)) for row in self]

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` over the same memory."""
        return _package('pyarrow', 'to_arrow()').table(self)

    def to_pandas(self, *, categories: bool = True) -> Any:
        """A `pandas.DataFrame`. Columns of texts are categories; with `categories=False`, strings."""
        _package('pandas', 'to_pandas()')
        arrow = _package('pyarrow', 'to_pandas()')
        table = arrow.table(self)
        if not categories:
            for number, field in enumerate(table.schema):
                if arrow.types.is_dictionary(field.type):
                    table = table.set_column(number, field.name, table.column(number).cast(arrow.string()))
        return table.to_pandas()

    def to_polars(self) -> Any:
        """A `polars.DataFrame`. Columns of texts are categories."""
        return _package('polars', 'to_polars()').DataFrame(self)

    def __repr__(self) -> str:
        return f'<inferogram result: {len(self)} rows of {", ".join(self.columns)}>'

    def _repr_html_(self) -> str:
        shown: List[Row] = []
        for row in self:
            if len(shown) == PREVIEW_ROWS:
                break
            shown.append(row)
        head = ''.join(f'<th>{html.escape(name)}</th>' for name in self.columns)
        body = ''.join('<tr>' + ''.join(f'<td>{"" if value is None else html.escape(str(value))}</td>' for value in row)
                       + '</tr>' for row in shown)
        more = f'<p>{len(shown)} of {len(self)} rows</p>'
        return f'<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _frame(document: str) -> str:
    """A page in a notebook: it may run its script, and nothing else that a page of the notebook may."""
    return (f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(document)}" title="Inferogram" '
            f'style="width: 100%; height: {REPORT_HEIGHT}px; border: 1px solid #8884"></iframe>')


class Report(Dict[str, Any]):
    """What `inferogram report --json` says, as a dictionary; `print()` shows the text for people."""

    def __init__(self, trace: Trace, document: Dict[str, Any]) -> None:
        super().__init__(document)
        self._trace = trace

    @property
    def text(self) -> str:
        """The report as `inferogram report` prints it."""
        return run(['report', '--color', 'never', '--no-pager', self._trace.path]).stdout.decode()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._trace._repr_html_()


class Diff(Dict[str, Any]):
    """What `inferogram diff --json` says of two traces; `regressed` is its verdict in one word."""

    def __init__(self, paths: Tuple[str, str], options: List[str], document: Dict[str, Any], status: int) -> None:
        super().__init__(document)
        self._paths, self._options = paths, options
        self.regressed: Optional[bool] = {0: False, 1: True}.get(status)
        """True or False; None if the recordings are too short to tell."""

    @property
    def text(self) -> str:
        """The differences as `inferogram diff` prints them."""
        return run(['diff', '--color', 'never', '--no-pager', *self._options, *self._paths],
                   allowed=(0, 1, 3)).stdout.decode()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _frame(run(['diff', *self._options, '--html', '-', *self._paths], allowed=(0, 1, 3)).stdout.decode())


class Trace:
    """A recording. In a notebook, it shows itself as the report with the timeline behind it."""

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        if not os.path.isfile(self.path):
            raise FileNotFoundError(2, 'there is no such trace', self.path)
        self._document: Optional[Dict[str, Any]] = None

    def query(self, sql: str, *, max_rows: Optional[int] = None, timeout: Optional[float] = None) -> Result:
        """Ask in SQL; docs/sql.md describes the tables. Raises Error if the SQL is wrong, if there are
        more than `max_rows` rows, or if it takes longer than `timeout` seconds. The default is no limit."""
        if not hasattr(os, 'memfd_create'):
            raise Error('this system has no memfd_create(2)')
        fd = os.memfd_create('inferogram-result', os.MFD_CLOEXEC)
        try:
            run(['query', '--arrow', '--max-rows', str(max_rows or 0), '--timeout', f'{timeout or 0:f}', self.path, '-'],
                stdout=fd, stdin=sql.encode())
            return Result(_native.Table(fd))
        finally:
            os.close(fd)

    def info(self) -> Dict[str, Any]:
        """What is in the trace: program, host, instruments, counts. Described in docs/json.md."""
        document: Dict[str, Any] = json.loads(run(['info', '--json', self.path]).stdout)
        return document

    def report(self) -> Report:
        """The answer on one screen: models, categories of events, placement, findings."""
        if self._document is None:
            self._document = json.loads(run(['report', '--json', '--limit', '0', self.path]).stdout)
        return Report(self, self._document)

    @property
    def models(self) -> List[Dict[str, Any]]:
        """The models of the report, with the latency of each."""
        models: List[Dict[str, Any]] = self.report()['models']
        return models

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """What is wrong, the evidence, and what fixes it; the most important first."""
        findings: List[Dict[str, Any]] = self.report()['findings']
        return findings

    def diff(self, other: Union[Trace, str, os.PathLike[str]], *, threshold: Optional[float] = None,
             everything: bool = False) -> Diff:
        """What changed from this trace to the other one. `threshold` is in percent."""
        paths = (self.path, other.path if isinstance(other, Trace) else Trace(other).path)
        options = [] if threshold is None else ['--threshold', f'{threshold:g}']
        options += ['--all'] if everything else []
        done = run(['diff', '--json', *options, *paths], allowed=(0, 1, 3))
        return Diff(paths, options, json.loads(done.stdout), done.returncode)

    def html(self) -> str:
        """The report with its timeline as one HTML document, to be mailed or kept."""
        return run(['report', '--html', '-', self.path]).stdout.decode()

    def __repr__(self) -> str:
        return f'inferogram.open({self.path!r})'

    def _repr_html_(self) -> str:
        return _frame(self.html())


def open(path: Union[str, os.PathLike[str]]) -> Trace:
    """Open a recording, a file that `inferogram record` or `inferogram.record()` has written."""
    return Trace(path)
