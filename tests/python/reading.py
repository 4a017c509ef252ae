# SPDX-License-Identifier: Apache-2.0
"""Reading a trace, with nothing but Python: python_reading.sh runs it in every CPython.

reading.py TRACE OTHER EMPTY
"""
import csv
import io
import os
import random
import subprocess
import sys

import inferogram
from inferogram import _native

PATH, OTHER, EMPTY = sys.argv[1:]


def refuses(kind, part, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except kind as error:
        assert part in str(error), str(error)
        return error
    raise AssertionError('%r was not refused' % (args,))


def as_csv(sql):
    text = subprocess.run([inferogram.program(), 'query', PATH, sql, '--csv'], stdout=subprocess.PIPE, check=True).stdout
    return list(csv.reader(io.StringIO(text.decode(), newline='')))


trace = inferogram.open(PATH)
assert repr(trace) == 'inferogram.open(%r)' % PATH

# The columns of slices are read in another way than rows by SQLite: both say the same, also about NULL.
plain = trace.query('SELECT * FROM slice')
by_sqlite = trace.query('SELECT * FROM slice WHERE 1')
assert plain.columns == by_sqlite.columns and len(plain) == len(by_sqlite) > 100
assert plain.rows() == by_sqlite.rows()
assert any(value is None for row in plain for value in row)
table = as_csv('SELECT * FROM slice')
assert list(plain.columns) == table[0]
assert [['' if value is None else str(value) for value in row] for row in plain] == table[1:]
for sql in ('select name from slice', ' SELECT id , dur_ns,label\nFROM slice ; '):
    assert trace.query(sql).rows() == trace.query(sql.replace(';', '') + ' WHERE 1').rows()
for sql in ('SELECT name AS n FROM slice', 'SELECT name, 1 FROM slice', 'SELECT DISTINCT kind FROM slice',
            'SELECT "name" FROM slice', 'SELECT name FROM slice s', 'SELECT count(*) FROM slice', 'SELECT * FROM slice LIMIT 3'):
    assert [['' if value is None else str(value) for value in row] for row in trace.query(sql)] == as_csv(sql)[1:], sql

# Types: one for each column, whatever SQLite made of single values.
kinds = trace.query("SELECT 1 AS i, 2.5 AS r, 't' AS t, NULL AS n, x'00ff' AS b UNION ALL "
                    "SELECT 7, 3, 'u', NULL, NULL UNION ALL SELECT 9223372036854775807, NULL, 1.5, NULL, 12")
assert kinds.rows() == [(1, 2.5, 't', None, '00ff'), (7, 3.0, 'u', None, None), (2 ** 63 - 1, None, '1.5', None, '12')]
assert kinds.to_dicts()[1] == {'i': 7, 'r': 3.0, 't': 'u', 'n': None, 'b': None}
mixed = trace.query("SELECT CASE id % 3 WHEN 0 THEN id WHEN 1 THEN 0.1 ELSE 'x' END AS m FROM slice LIMIT 6")
assert [row[0] for row in mixed] == ['0', '0.1', 'x', '3', '0.1', 'x']
assert trace.query('SELECT char(252) AS u').rows() == [('\u00fc',)]
assert trace.query("SELECT CAST(x'41ff42' AS TEXT) AS u").rows() == [('A\ufffdB',)]
assert trace.query('-- a comment first\nSELECT 1').rows() == [(1,)]
nothing = trace.query('SELECT * FROM slice WHERE 0')
assert len(nothing) == 0 and nothing.rows() == [] and len(nothing.columns) == 20
# More than one batch.
many = trace.query('WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 140000) SELECT i, i % 7 = 0 AS s FROM n')
assert len(many) == 140001 and sum(row[0] for row in many) == 140000 * 140001 // 2

# Messages.
wrong = refuses(inferogram.Error, 'no such column: durr', trace.query, 'SELECT durr FROM slice')
assert wrong.status == 2 and 'inferogram:' not in str(wrong)
refuses(inferogram.Error, 'can only read', trace.query, 'CREATE TABLE t(i)')
refuses(inferogram.Error, 'more than 5 rows', trace.query, 'SELECT * FROM slice', max_rows=5)
refuses(inferogram.Error, 'took longer', trace.query,
        'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n', timeout=0.2)
refuses(FileNotFoundError, 'no such trace', inferogram.open, PATH + '.missing')
refuses(inferogram.Error, 'trace', inferogram.open(__file__).query, 'SELECT 1')
for method in ('to_arrow', 'to_pandas', 'to_polars'):
    try:
        getattr(plain, method)()
    except ImportError as error:
        assert 'pip install' in str(error)

# The report.
report = trace.report()
assert report['schema'] == 1 and report.text.strip() and str(report) == report.text
assert [model['name'] for model in trace.models] and trace.models == report['models']
assert [finding['id'] for finding in trace.findings] == [finding['id'] for finding in report['findings']] != []
assert trace.info()['schema'] == 1
page = trace._repr_html_()
assert page.startswith('<iframe sandbox="allow-scripts" srcdoc="') and page.endswith('</iframe>')
assert '<script' not in page and page.count('"') == 8
assert plain._repr_html_().startswith('<table>')

same = trace.diff(trace)
assert same.regressed is False and same['schema'] == 1
slower = trace.diff(OTHER, threshold=1)
assert isinstance(slower, dict) and slower.text
assert len(inferogram.open(EMPTY).query('SELECT * FROM slice')) == 0

# A damaged result is refused or read, and never more than that.
stream = subprocess.run([inferogram.program(), 'query', PATH, 'SELECT name, id, dur_ns * 1.5, model FROM slice LIMIT 40', '--arrow'],
                        stdout=subprocess.PIPE, check=True).stdout
random.seed(1)
refused = 0
for turn in range(1500):
    damaged = bytearray(stream[:random.randrange(len(stream))] if turn % 5 == 0 else stream)
    for _ in range(random.randrange(1, 4) if damaged else 0):
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))
    fd = os.memfd_create('damaged')
    try:
        os.write(fd, damaged)
        table = _native.Table(fd)
        for batch in range(table.batches):
            table.rows(batch)
    except (ValueError, IndexError, MemoryError, UnicodeDecodeError):
        refused += 1
    finally:
        os.close(fd)
assert 300 < refused < 1500, refused
print('done')
