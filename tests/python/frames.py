# SPDX-License-Identifier: Apache-2.0
"""Results in the libraries that people use: the same values in each. frames.py TRACE EMPTY"""
import gc
import io
import subprocess
import sys

import pandas
import polars
import pyarrow
import pyarrow.ipc

import inferogram

PATH, EMPTY = sys.argv[1:]
trace = inferogram.open(PATH)
for sql in ('SELECT * FROM slice', 'SELECT name, count(*) AS n, avg(dur_ns) AS mean, NULL AS none FROM slice GROUP BY name',
            'SELECT * FROM slice WHERE 0'):
    result = trace.query(sql)
    rows = result.rows()
    table = result.to_arrow()
    table.validate(full=True)
    assert [tuple(row.values()) for row in table.to_pylist()] == rows, sql
    # An independent reader of the stream itself.
    stream = subprocess.run([inferogram.program(), 'query', PATH, sql, '--arrow'], stdout=subprocess.PIPE, check=True).stdout
    read = pyarrow.ipc.open_stream(io.BytesIO(stream)).read_all()
    read.validate(full=True)
    assert read.equals(table), sql
    frame = result.to_pandas()
    assert list(frame.columns) == list(result.columns) and len(frame) == len(rows)
    assert result.to_polars().rows() == rows, sql
    assert polars.DataFrame(result).equals(polars.from_arrow(table)), sql

frame = trace.query('SELECT name, dur_ns FROM slice').to_pandas()
assert isinstance(frame['name'].dtype, pandas.CategoricalDtype) and frame['dur_ns'].dtype == 'int64'
assert frame.groupby('name', observed=False)['dur_ns'].count().min() > 0  # no name that is not there
frame = trace.query('SELECT name, dur_ns FROM slice').to_pandas(categories=False)
assert not isinstance(frame['name'].dtype, pandas.CategoricalDtype) and isinstance(frame['name'][0], str)
assert trace.query('SELECT * FROM slice').to_arrow().schema.field('name').type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string())

# What was taken out lives longer than what it came from; what nobody takes is given back.
result = trace.query('SELECT id, name FROM slice')
expected = result.rows()
table = pyarrow.table(result)
chunk = table.column('name').chunk(0)
capsule = result.__arrow_c_stream__()
first = result.to_arrow().slice(0, 1)
del result, table, capsule
gc.collect()
assert chunk.to_pylist() == [name for _, name in expected[:len(chunk)]] and first.to_pylist() == [{'id': 0, 'name': expected[0][1]}]
assert inferogram.open(EMPTY).query('SELECT * FROM slice').to_pandas().empty


def mapped():
    with open('/proc/self/maps', encoding='utf-8') as maps:
        return sum('memfd:inferogram-result' in line for line in maps)


del chunk, first, frame
gc.collect()
assert mapped() == 0, mapped()
print('done')
