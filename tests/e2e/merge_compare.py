# SPDX-License-Identifier: Apache-2.0
"""merge_compare.py INFEROGRAM MERGED PART...: whether a merged trace is the sum of its parts, by what `query` says of each.

Prints "same" and how many rows were compared, or the first differences. Times are compared after the shift that the
merged trace says it gave each part, process and thread numbers after what it says it added to them.
"""

import collections
import json
import subprocess
import sys

TOOL, MERGED, *PARTS = sys.argv[1:]

# What must be there as often as in the parts together: the columns of a table, each with T if it is a time, P if it is
# a process or thread number.
STACK = """(SELECT group_concat(f.function || '@' || f.module || '+' || f.address || ':' || coalesce(f.file, '') || ':' ||
    coalesce(f.line, 0) || ':' || f.guessed || f.inferred, ';') FROM stack_frame f WHERE f.stack = s.stack)"""
WHOSE = ['process P', 'thread P']
TABLES = {
    'slice': WHOSE + ['name', 'label', 'kind', 'category', 'function', 'depth', 'start_ns T', 'dur_ns', 'self_ns', 'unfinished', 'file',
                      'line'],
    'ml_event': WHOSE + ['function', 'category', 'start_ns T', 'dur_ns', 'detail'],
    'attribute': ['key', 'type', 'value'],
    'counter': ['process P', 'name', 'time_ns T', 'value'],
    'message': WHOSE + ['time_ns T', 'level', 'text'],
    'allocation': WHOSE + ['pool', 'time_ns T', 'is_free', 'address', 'bytes'],
    'frame': WHOSE + ['name', 'time_ns T'],
    'sample': WHOSE + ['time_ns T', 'cpu', 'function', 'module', 'operator', 'attribution', 'in_kernel', 'exact', 'rooted', STACK],
    'thread_state': WHOSE + ['start_ns T', 'dur_ns', 'state', 'cpu', 'waker P', 'waker_name', 'thread_name', 'detail'],
    'heap_allocation': WHOSE + ['time_ns T', 'freed_ns T', 'bytes', 'weight', 'address', 'function', 'module', 'attribution', STACK],
    'input': ['position', 'name', 'type', 'shape', 'bytes', 'failed', 'slice IS NULL'],
    'process': ['pid P', 'program', 'arguments', 'start_ns T', 'end_ns T', 'fate', 'fate_code'],
    'thread': ['process P', 'tid P', 'name', 'slices', 'dropped'],
    'model': ['process P', 'path', 'content_id', 'runtime', 'requested_devices', 'actual_devices'],
    'model_property': ['process P', 'key', 'value'],
    'location': ['process P', 'kind', 'name', 'category', 'function', 'file', 'line', 'color', 'slices'],
    'loss': ['process P', 'what', 'count'],
    'async_span': ['process P', 'name', 'span', 'start_ns T', 'dur_ns', 'unfinished'],
    'flow': ['name', 'span', 'kind', 'from_ns T', 'to_ns T'],
    'clock': ['kind', 'nominal_hz', 'name', 'hz', 'pairs', 'contradictions'],
}
# Every trace has one that stands for what it does not define.
WHERE = {'location': "WHERE name != '(not defined in this trace)'"}


def rows(trace, shift_ns, numbers_from):
    """Every row of every table, how often it is there; in one question, because opening a trace takes longer."""
    parts = []
    for table, columns in TABLES.items():
        names = []
        for column in columns:
            if column.endswith(' T'):
                column = f'{column[:-2]} + (SELECT begin_monotonic_ns FROM trace_info) + {shift_ns}'
            elif column.endswith(' P'):
                column = f'CASE WHEN {column[:-2]} THEN {column[:-2]} + {numbers_from} ELSE {column[:-2]} END'
            names.append(column)
        parts.append(f"SELECT '{table}', json_array({', '.join(names)}) FROM {table} s {WHERE.get(table, '')}")
    out = subprocess.run([TOOL, 'query', trace, ' UNION ALL '.join(parts), '--json', '--max-rows', '0', '--timeout', '0'],
                         capture_output=True, text=True, check=False)
    if out.returncode:
        sys.exit(f'{trace}: {out.stderr}')
    return collections.Counter(map(tuple, json.loads(out.stdout)['rows']))


merged = json.loads(subprocess.run([TOOL, 'info', MERGED, '--json'], capture_output=True, text=True, check=True).stdout)['merged']
together = collections.Counter()
for part, said in zip(PARTS, merged):
    together += rows(part, said['shift_ns'], said['numbers_from'])
found = rows(MERGED, 0, 0)
differences = [f'missing {row}' for row in list(together - found)[:5]] + [f'too much {row}' for row in list(found - together)[:5]]
print('\n'.join(differences) if differences else f'same, {sum(found.values())} rows')
