#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_samples.py DIRECTORY: exports of the samples of tests/lib/profile_trace.h, five views of the same stacks.

The directory has t.folded, t.threads.folded, t.speedscope, t.pprof, t.chrome, t.perfetto."""

import collections
import gzip
import json
import os
import sys

import wire
from truth import equal

WORKER = 'pool::Worker::(virtual 2)'
TRUTH = {
    ('main', 'run(int)'): 20,
    ('main', 'run(int)', 'mul_[i]'): 10,
    ('main', 'run(int)', 'do_page_[k]'): 10,
    ('main', 'recurse', 'recurse'): 10,
    (WORKER, 'spin'): 40,
    (WORKER, 'librun.so [unknown]'): 10,
}
PERIOD = 10000000


def folded(path):
    stacks = collections.Counter()
    for line in open(path, encoding='utf-8'):
        stack, count = line.rstrip('\n').rsplit(' ', 1)
        stacks[tuple(stack.split(';'))] += int(count)
    return stacks


def speedscope(path):
    document = json.load(open(path, encoding='utf-8'))
    frames = document['shared']['frames']
    stacks = collections.Counter()
    for profile in document['profiles']:
        equal('type', (profile['type'], profile['unit']), ('sampled', 'nanoseconds'))
        equal('weights', profile['weights'], [PERIOD] * len(profile['samples']))
        equal('end', profile['endValue'], sum(profile['weights']))
        for sample in profile['samples']:
            stacks[tuple(frames[i]['name'] for i in sample)] += 1
    equal('threads', [p['name'] for p in document['profiles']], ['worker 5000', 'thread 9001'])
    equal('line', [f['line'] for f in frames if f['name'] == 'mul_[i]'], [3])
    return stacks


def pprof(path):
    profile = wire.message(gzip.open(path).read())
    strings = [s.decode() for s in profile[6]]
    types = [wire.message(t) for t in profile[1]]
    equal('types', [(strings[t[1][0]], strings[t[2][0]]) for t in types],
          [('samples', 'count'), ('cpu', 'nanoseconds')])
    equal('period', profile[12], [PERIOD])
    functions = {m[1][0]: strings[m[2][0]] for m in map(wire.message, profile[5])}
    modules = {m[1][0]: strings[m[5][0]] for m in map(wire.message, profile[3])}
    locations, of = {}, {}
    for m in map(wire.message, profile[4]):
        locations[m[1][0]] = [functions[wire.message(line)[1][0]] for line in m[4]]
        of[m[1][0]] = modules[m[2][0]]
    stacks, labels = collections.Counter(), collections.Counter()
    for m in map(wire.message, profile[2]):
        count, time = wire.varints(m[2][0])
        equal('time', time, count * PERIOD)
        names = [name for location in wire.varints(m[1][0]) for name in locations[location]]
        stacks[tuple(reversed(names))] += count
        for label in map(wire.message, m.get(3, [])):
            labels[strings[label[1][0]], strings[label[2][0]]] += count
    equal('modules', set(of.values()) >= {'/usr/lib/librun.so', '/opt/app', '[kernel]'}, True)
    equal('labels', labels, {('model', 'ocr'): 80, ('category', 'inference'): 80, ('operator', 'Conv'): 50,
                             ('thread', 'worker 5000'): 50, ('thread', 'thread 9001'): 50})
    return stacks


def chrome(path):
    document = json.load(open(path, encoding='utf-8'))
    frames = document['stackFrames']
    stacks = collections.Counter()
    for sample in document['samples']:
        names, at = [], sample['sf']
        while at:
            names.append(frames[at]['name'])
            at = frames[at].get('parent')
        stacks[tuple(reversed(names))] += sample['weight']
    equal('slices', sum(e['ph'] == 'X' for e in document['traceEvents']), 20)
    equal('threads', collections.Counter(s['tid'] for s in document['samples']), {5000: 50, 9001: 50})
    return stacks


def perfetto(path):
    stacks, names, frames, callstacks, mappings = collections.Counter(), {}, {}, {}, {}
    last = 0
    for field, body in wire.fields(open(path, 'rb').read()):
        equal('field', field, 1)
        packet = wire.message(body)
        if packet.get(13, [0])[0] & 1:
            names, frames, callstacks, mappings = {}, {}, {}, {}
        for interned in map(wire.message, packet.get(12, [])):
            names.update({m[1][0]: m[2][0].decode() for m in map(wire.message, interned.get(5, []))})
            mappings.update({m[1][0]: m for m in map(wire.message, interned.get(19, []))})
            for m in map(wire.message, interned.get(6, [])):
                equal('mapping', m[3][0] in mappings, True)
                frames[m[1][0]] = names[m[2][0]]
            callstacks.update({m[1][0]: m[2] for m in map(wire.message, interned.get(7, []))})
        for sample in map(wire.message, packet.get(66, [])):
            equal('in order', packet[8][0] >= last, True)
            last = packet[8][0]
            stacks[tuple(frames[f] for f in callstacks[sample[4][0]])] += 1
            equal('mode', sample[5][0], 1 if frames[callstacks[sample[4][0]][-1]] == 'do_page_[k]' else 2)
    return stacks


def main():
    at = sys.argv[1]
    for name, view in (('t.folded', folded), ('t.speedscope', speedscope), ('t.pprof', pprof), ('t.perfetto', perfetto)):
        equal(name, view(os.path.join(at, name)), TRUTH)
    physical = dict(TRUTH)  # Chrome's frames have one name: that of the function with the code
    physical['main', 'run(int)'] += physical.pop(('main', 'run(int)', 'mul_[i]'))
    equal('t.chrome', chrome(os.path.join(at, 't.chrome')), physical)
    threads = folded(os.path.join(at, 't.threads.folded'))
    equal('by thread', {stack[0] for stack in threads}, {'worker 5000', 'thread 9001'})


if __name__ == '__main__':
    main()
