#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_chrome.py TRUTH FILE: reads Chrome JSON with Python's parser and compares it with the truth."""

import json
import sys

from truth import Truth, equal, require

REUSED = 10000000


def no_constants(name):
    raise ValueError(name)


def ns(event, key):
    return round(event[key] * 1000)


def main():
    truth = Truth(sys.argv[1])
    raw = open(sys.argv[2], 'rb').read()
    document = json.loads(raw.decode('utf-8'), parse_constant=no_constants)
    events = document['traceEvents']
    base = document['otherData']['begin_monotonic_ns']
    lines = raw.decode('utf-8').split('\n')
    equal('one event per line', len(lines) - 3, max(len(events), 1))
    for event in events:
        require({'name', 'ph', 'pid'} <= set(event), f'incomplete: {event}')

    # Slices: X, and async pairs for what overlaps.
    slices = [dict(e, dur=ns(e, 'dur')) for e in events if e['ph'] == 'X']
    pairs = {}
    for event in events:
        if event['ph'] in 'be':
            key = (event['pid'], event['name'], event['cat'], event['id2']['local'])
            pairs.setdefault(key, []).append(event)
    spans, unfinished = [], []
    for key, (begin, end) in pairs.items():
        equal('a pair', begin['ph'] + end['ph'], 'be')
        item = dict(begin, dur=ns(end, 'ts') - ns(begin, 'ts'))
        identity = int(key[3], 16)
        if identity >> 63:
            slices.append(item)
        else:
            spans.append((identity, base + ns(begin, 'ts'), base + ns(end, 'ts'), begin['name']))
            unfinished.append(bool(begin.get('args', {}).get('unfinished')))
    got = sorted((e['pid'] % REUSED, e['tid'] % REUSED, base + ns(e, 'ts'), e['dur'], e['name'],
                  e['cat'], bool(e.get('args', {}).get('unfinished'))) for e in slices)
    equal('slices', got, sorted((s['pid'], s['tid'], s['start'], s['dur'], s['name'], s['kind'],
                                 bool(s['unfinished'])) for s in truth.slices))
    equal('overlapping', document['otherData']['overlapping'],
          sum(1 for key in pairs if int(key[3], 16) >> 63))

    # Strict nesting on each thread, in the order of the file.
    stacks = {}
    for event in events:
        if event['ph'] != 'X':
            continue
        start, stack = ns(event, 'ts'), stacks.setdefault((event['pid'], event['tid']), [])
        while stack and stack[-1] <= start:
            stack.pop()
        require(not stack or start + ns(event, 'dur') <= stack[-1], f'does not nest: {event}')
        stack.append(start + ns(event, 'dur'))

    # Each thread of the trace is one of the export.
    named = {(e['pid'], e['tid']) for e in events if e['name'] == 'thread_sort_index'}
    equal('threads', len(named), len(truth.threads))
    equal('processes', len({e['pid'] for e in events if e['name'] == 'process_name'}),
          len(truth.pids))

    # Spans, counters, marks, flows.
    equal('spans', sorted(s[0:2] + s[3:] for s in spans),
          sorted((s['span'], s['start'], s['name']) for s in truth.spans))
    for span, open_end in zip(spans, unfinished):
        end = [s['end'] for s in truth.spans if s['span'] == span[0]][0]
        require(open_end == (end == 0) and end in (0, span[2]), f'end of {span}')
    values = [(base + ns(e, 'ts'), e['args']['value'], e['name']) for e in events
              if e['ph'] == 'C' and 'value' in e['args']]
    equal('counters', sorted(values), sorted((v['at'], v['value'], v['name'])
                                             for v in truth.values))
    marks = [(base + ns(e, 'ts'), e['name']) for e in events if e['ph'] == 'i']
    equal('marks', sorted(marks), sorted((m['mark'], m['name']) for m in truth.marks))
    flows = [e['ph'] for e in events if e['ph'] in 'stf']
    stages = [s for s in truth.slices if s['kind'] == 'stage']
    equal('flows', sorted(flows), ['f', 's', 't'] if stages else [])
    if stages:
        equal('memory', [e['args']['bytes'] for e in events
                         if e['ph'] == 'C' and 'bytes' in e['args']], [4096, 4196, 100])
        check_args(events)


def check_args(events):
    def args(name):
        return [e['args'] for e in events if e['ph'] == 'X' and e['name'] == name]

    load = args('load')[0]
    equal('load', load, {'model': 'ocr, "v2"', 'function': 'main', 'category': 'load',
                         'specialization': 'cold'})
    operator = args('/layer1/Conv')[0]
    equal('large number', operator['value'], str(2 ** 64 - 1))
    equal('text', operator['text'], 'x,y\n"z"')
    equal('file', operator['file'], 'a,b "c".c')
    renamed = args('renamed \x01,"')[0]
    equal('an attribute called like ours', renamed['attribute model'], 'm')
    require('name' not in renamed, 'the name is not an argument')


main()
