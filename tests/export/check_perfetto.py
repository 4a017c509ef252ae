#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_perfetto.py TRUTH FILE [--cut]: decodes Perfetto's protobuf and compares it with the truth.

--cut: the file ends anywhere; what is there must be whole and described."""

import struct
import subprocess
import sys

import wire
from truth import Truth, equal, require

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
REUSED = 10000000


def packets(data, cut):
    try:
        for field, body in wire.fields(data):
            equal('field of a trace', field, 1)
            packet = wire.message(body)
            if 133 in packet:
                plain = subprocess.run(['zstd', '-dc'], input=packet[133][0], check=True,
                                       stdout=subprocess.PIPE).stdout
                yield from packets(plain, False)
            else:
                yield packet
    except wire.Cut:
        require(cut, 'the file ends inside a packet')


class Track:
    def __init__(self, body):
        m = wire.message(body)
        self.parent = m.get(5, [0])[0]
        self.name = m[2][0].decode() if 2 in m else None
        self.process = wire.message(m[3][0]) if 3 in m else None
        self.thread = wire.message(m[4][0]) if 4 in m else None
        self.is_counter = 8 in m


class Reader:
    def __init__(self):
        self.tracks, self.state, self.open = {}, {}, {}
        self.slices, self.marks, self.values = [], [], []
        self.described = 0

    def read(self, packet):
        sequence = packet.get(10, [0])[0]
        flags = packet.get(13, [0])[0]
        if 60 in packet:
            uuid = wire.message(packet[60][0])[1][0]
            self.tracks[uuid] = Track(packet[60][0])
            self.described += self.tracks[uuid].process is not None
        if flags & 1:
            self.state[sequence] = {'names': {}, 'categories': {}, 'keys': {}, 'sources': {},
                                    'track': 0}
            defaults = wire.message(packet[59][0])
            equal('clock', defaults[58][0], 3)
            if 11 in defaults:
                self.state[sequence]['track'] = wire.message(defaults[11][0])[11][0]
        state = self.state.get(sequence)
        if 12 in packet:
            self.intern(state, wire.message(packet[12][0]))
        if 11 in packet:
            require(flags & 2, 'an event without the flag that it needs its state')
            self.event(state, packet[8][0], wire.message(packet[11][0]))

    def intern(self, state, data):
        for field, where in ((1, 'categories'), (2, 'names'), (3, 'keys'), (4, 'sources')):
            for body in data.get(field, []):
                m = wire.message(body)
                require(m[1][0] not in state[where], f'{where} interned twice')
                state[where][m[1][0]] = m[2][0].decode()

    def args(self, state, event):
        found = {}
        for body in event.get(4, []):
            m = wire.message(body)
            key = state['keys'][m[1][0]] if 1 in m else m[10][0].decode()
            require(key not in found, f'{key} twice')
            value = [m[f][0] for f in (2, 3, 4, 5, 6) if f in m][0]
            found[key] = value.decode() if isinstance(value, bytes) else value
        return found

    def event(self, state, time, event):
        uuid = event.get(11, [state['track']])[0]
        require(uuid in self.tracks, 'an event on a track that was not described before')
        kind = event[9][0]
        if kind == COUNTER:
            require(self.tracks[uuid].is_counter, 'a value on something else than a counter track')
            self.values.append((time, struct.unpack('<d', struct.pack('<Q', event[44][0]))[0],
                                self.tracks[uuid].name))
            return
        if kind == END:
            item = self.open[uuid].pop()
            item['dur'] = time - item['start']
            require(item['dur'] >= 0, 'ends before it begins')
            self.slices.append(item)
            return
        item = {'track': uuid, 'start': time, 'args': self.args(state, event),
                'name': state['names'][event[10][0]] if 10 in event else event[23][0].decode(),
                'cat': state['categories'][event[3][0]], 'flows': event.get(47, []),
                'last_flows': event.get(48, []), 'correlation': event.get(52, [None])[0]}
        if 34 in event:
            require(event[34][0] in state['sources'], 'a source that was not interned')
        if kind == INSTANT:
            self.marks.append((time, item['name']))
        else:
            self.open.setdefault(uuid, []).append(item)

    def path(self, uuid):
        """The names from the root to this track; the thread's or process's track ends it."""
        track = self.tracks[uuid]
        if track.thread:
            return [('thread', track.thread[1][0], track.thread[2][0])]
        if track.process:
            return [('process', track.process[1][0])]
        if track.parent == 0:
            return [track.name]
        require(track.parent in self.tracks, 'a parent that was not described')
        return self.path(track.parent) + [track.name]


def main():
    truth = Truth(sys.argv[1])
    cut = '--cut' in sys.argv
    reader = Reader()
    for packet in packets(open(sys.argv[2], 'rb').read(), cut):
        reader.read(packet)
    for uuid in reader.tracks:
        reader.path(uuid)
    if cut:
        require(reader.slices, 'nothing is left')
        known = {(s['start'], s['dur'], s['name']) for s in truth.slices}
        for item in reader.slices:
            require((item['start'], item['dur'], item['name']) in known, f'not in the trace: {item}')
        return
    equal('open slices', [s for s in reader.open.values() if s], [])

    on_threads, in_tree, others = [], [], []
    for item in reader.slices:
        path = reader.path(item['track'])
        if path[0][0] == 'thread':
            require(path[1:] in ([], ['overlapping']), f'{path}')
            on_threads.append((path[0][1] % REUSED, path[0][2] % REUSED, item))
        elif path[0] == 'ML activity' and 'id' not in item['args']:
            in_tree.append((path, item))
        else:
            others.append((path, item))
    got = sorted((pid, tid, i['start'], i['dur'], i['name'], i['cat'],
                  bool(i['args'].get('unfinished'))) for pid, tid, i in on_threads)
    equal('slices', got, sorted((s['pid'], s['tid'], s['start'], s['dur'], s['name'], s['kind'],
                                 bool(s['unfinished'])) for s in truth.slices))
    check_tree(on_threads, in_tree)
    equal('spans', sorted((i['args']['id'], i['start'], i['name']) for _, i in others),
          sorted((s['span'], s['start'], s['name']) for s in truth.spans))
    for path, item in others:
        end = [s['end'] for s in truth.spans if s['span'] == item['args']['id']][0]
        require(end in (0, item['start'] + item['dur']), f'end of {item}')
    equal('values', sorted(v for v in reader.values if v[2] != 'arena'),
          sorted((v['at'], v['value'], v['name']) for v in truth.values))
    equal('marks', sorted(reader.marks), sorted((m['mark'], m['name']) for m in truth.marks))
    stages = [i for _, _, i in on_threads if i['flows'] or i['last_flows']]
    if any(s['kind'] == 'stage' for s in truth.slices):
        stages.sort(key=lambda i: i['start'])
        equal('stages of the request', [i['name'] for i in stages], ['pre', 'inference', 'post'])
        equal('flow', [(len(i['flows']), len(i['last_flows'])) for i in stages],
              [(1, 0), (1, 0), (0, 1)])
        equal('memory', sorted(v[1] for v in reader.values if v[2] == 'arena'), [100, 4096, 4196])
    if len(truth.slices) > 10000:
        require(reader.described > 1, 'the tracks of a large file were described only once')


def check_tree(on_threads, in_tree):
    """Each ML event has its twin under ML activity, model, function."""
    twins = {}
    for path, item in in_tree:
        equal('depth of the tree', len(path), 3)
        equal('model', path[1], item['args']['model'])
        equal('function', path[2], item['args']['function'])
        twins[item['correlation']] = item
    ml = [i for _, _, i in on_threads if i['cat'] == 'ml']
    equal('ML events in the tree', len(twins), len(ml))
    for item in ml:
        twin = twins[item['correlation']]
        equal('twin', (twin['start'], twin['dur'], twin['name'], twin['args']),
              (item['start'], item['dur'], item['name'], item['args']))


main()
