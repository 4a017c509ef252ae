#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_states.py STATES.json CHROME.json PERFETTO: states of threads in exports are those that `query` has.

STATES.json: rows of (thread, state, start_ns, dur_ns) from `inferogram query --json`."""

import collections
import json
import re
import sys

import wire
from truth import equal

CLASSES = {'Running': 'running', 'Runnable': 'runnable', 'Runnable (Preempted)': 'runnable', 'Sleeping': 'blocked',
           'Uninterruptible Sleep': 'blocked'}


def chrome(path):
    found, begun = [], {}
    for event in json.load(open(path, encoding='utf-8'))['traceEvents']:
        if event.get('cat') != 'thread_state':
            continue
        key = event['pid'], event['id2']['local']
        if event['ph'] == 'b':
            assert key not in begun, f'two states at once: {event}'
            begun[key] = event
        else:
            first = begun.pop(key)
            found.append((first['tid'], CLASSES[first['name']], round(first['ts'] * 1000),
                          round(event['ts'] * 1000) - round(first['ts'] * 1000)))
    assert not begun, begun
    return found


def perfetto(path):
    tracks, begun, found = {}, {}, []
    for field, packet in wire.fields(open(path, 'rb').read()):
        packet = wire.message(packet)
        for descriptor in packet.get(60, ()):
            descriptor = wire.message(descriptor)
            name = re.fullmatch(r'State of .* (\d+)', descriptor.get(2, [b''])[0].decode())
            if name:
                tracks[descriptor[1][0]] = int(name[1])
        for event in packet.get(11, ()):
            event = wire.message(event)
            track = event.get(11, [0])[0]
            if track not in tracks:
                continue
            if event[9][0] == 1:
                begun[track] = (packet[8][0], CLASSES[event[23][0].decode()])
            else:
                start, state = begun.pop(track)
                found.append((tracks[track], state, packet[8][0] - start))
    assert not begun, begun
    return found


def main():
    rows = json.load(open(sys.argv[1], encoding='utf-8'))['rows']
    rows = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in rows]
    assert rows, 'no states'
    equal('chrome', sorted(chrome(sys.argv[2])), sorted(rows))
    equal('perfetto', sorted(perfetto(sys.argv[3])), sorted((thread, state, length) for thread, state, _, length in rows))
    print(collections.Counter(row[1] for row in rows))


main()
