#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_tables.py TRUTH CSV TRACY UNWRAPPED SELF: the CSV formats, read with Python's csv module."""

import collections
import csv
import statistics
import sys

from truth import Truth, equal, require

STATISTICS = b'name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns\n'
UNWRAPPED = b'name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n'


def rows(path, header=None):
    if header:
        equal('header', open(path, 'rb').readline(), header)
    with open(path, encoding='utf-8', newline='') as file:
        found = list(csv.DictReader(file, strict=True))
    for row in found:
        require(None not in row and None not in row.values(), f'wrong number of columns: {row}')
    return found


def tracy_name(what, models):
    """Events of models are called as in the statistics."""
    if what['kind'] != 'ml':
        return what['name'] or 'work'
    return f"{models[what['tid'], what['start'], what['name']]} {what['name']}"


def main():
    truth = Truth(sys.argv[1])
    plain = rows(sys.argv[2])
    got = sorted((int(r['process']), int(r['thread']), int(r['start_ns']), int(r['dur_ns']),
                  r['name'], r['kind'], r['unfinished']) for r in plain)
    equal('rows', got, sorted((s['pid'], s['tid'], s['start'], s['dur'], s['name'], s['kind'],
                               str(s['unfinished'])) for s in truth.slices))
    for row in plain:
        require((row['kind'] == 'ml') == bool(row['category']), f'{row}')
        require(row['kind'] != 'ml' or (row['model'] and row['function']), f'{row}')
    names = {(t['tid'], t['name']) for t in truth.threads.values()}
    require({(int(r['thread']), r['thread_name']) for r in plain} <= names, 'thread names')

    models = {(int(r['thread']), int(r['start_ns']), r['name']): r['model'] for r in plain if r['kind'] == 'ml'}
    ended = [s for s in truth.slices if not s['unfinished']]
    unwrapped = rows(sys.argv[4], UNWRAPPED)
    equal('unwrapped', sorted((int(r['ns_since_start']) + truth.begin, int(r['exec_time_ns']),
                               int(r['thread']), r['name']) for r in unwrapped),
          sorted((s['start'], s['dur'], s['tid'], tracy_name(s, models)) for s in ended))
    if any(s['kind'] == 'stage' for s in truth.slices):
        require('x,y\n"z"' in [r['value'] for r in unwrapped], 'the text of a zone')

    table = rows(sys.argv[3], STATISTICS)
    equal('counts', sum(int(r['counts']) for r in table), len(ended))
    equal('total', sum(int(r['total_ns']) for r in table), sum(s['dur'] for s in ended))
    times = collections.defaultdict(list)
    for row in unwrapped:
        times[row['name'], row['src_line']].append(int(row['exec_time_ns']))
    for row in table:
        values = times.get((row['name'], row['src_line']))
        if not values or len(values) != int(row['counts']):
            continue  # the same name in several processes, or zones with names of their own
        equal(row['name'], (int(row['total_ns']), int(row['mean_ns']), int(row['min_ns']),
                            int(row['max_ns'])),
              (sum(values), sum(values) // len(values), min(values), max(values)))
        deviation = statistics.stdev(values) if len(values) > 1 else 0
        require(abs(float(row['std_ns']) - deviation) < 1e-3 * max(1, deviation), f'{row}')

    own = rows(sys.argv[5], UNWRAPPED)
    equal('own times', len(own), len(unwrapped))
    for row in own:
        require(int(row['exec_time_ns']) >= 0, f'{row}')
    setup = [int(r['exec_time_ns']) for r in own if r['name'].endswith(' setup')]
    require(setup in ([], [20]), f'own time of setup: {setup}')


main()
