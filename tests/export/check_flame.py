#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_flame.py TRUTH SPEEDSCOPE FOLDED PPROF: three views of the same stacks, which must agree."""

import collections
import gzip
import json
import sys

import wire
from truth import Truth, equal, require


def speedscope(path):
    """stack -> own time, from balanced events; and how many slices there are."""
    document = json.load(open(path, encoding='utf-8'))
    equal('schema', document['$schema'], 'https://www.speedscope.app/file-format-schema.json')
    names = [f['name'] for f in document['shared']['frames']]
    own, count = collections.Counter(), 0
    for profile in document['profiles']:
        equal('type', (profile['type'], profile['unit']), ('evented', 'nanoseconds'))
        at, stack = profile['startValue'], []
        for event in profile['events']:
            require(event['at'] >= at, 'time goes back')
            if stack:
                own[tuple(names[f] for f in stack)] += event['at'] - at
            at = event['at']
            if event['type'] == 'O':
                stack.append(event['frame'])
                own[tuple(names[f] for f in stack)] += 0
                count += 1
            else:
                equal('closes what is open', event['frame'], stack.pop())
        equal('balance', stack, [])
        require(at <= profile['endValue'], 'ends after the end')
    return own, count


def folded(path):
    own = collections.Counter()
    for line in open(path, encoding='utf-8', newline='\n'):
        stack, value = line.rstrip('\n').rsplit(' ', 1)
        own[tuple(stack.split(';'))] += int(value)
    return own


def pprof(path):
    profile = wire.message(gzip.open(path).read())
    strings = [s.decode('utf-8') for s in profile[6]]
    equal('first string', strings[0], '')
    types = [wire.message(t) for t in profile[1]]
    equal('types', [(strings[t[1][0]], strings[t[2][0]]) for t in types],
          [('zones', 'count'), ('wall', 'nanoseconds')])
    functions = {}
    for body in profile.get(5, []):
        m = wire.message(body)
        functions[m[1][0]] = strings[m[2][0]]
    locations = {}
    for body in profile.get(4, []):
        m = wire.message(body)
        line = wire.message(m[4][0])
        locations[m[1][0]] = functions[line[1][0]]
    own, count, labels = collections.Counter(), 0, collections.Counter()
    for body in profile.get(2, []):
        m = wire.message(body)
        stack = tuple(locations[i] for i in reversed(wire.varints(m[1][0])))
        values = wire.varints(m[2][0])
        own[stack] += values[1]
        count += values[0]
        for label in m.get(3, []):
            pair = wire.message(label)
            labels[strings[pair[1][0]], strings[pair[2][0]]] += values[0]
    return own, count, labels


def clean(stacks):
    """As folded writes names."""
    found = collections.Counter()
    for stack, value in stacks.items():
        found[tuple(''.join(' ' if ord(c) < 32 or c == '\x7f' else c for c in n).replace(';', ',')
                    or '(no name)' for n in stack)] += value
    return found


def main():
    truth = Truth(sys.argv[1])
    evented, slices = speedscope(sys.argv[2])
    lines = folded(sys.argv[3])
    profile, count, labels = pprof(sys.argv[4])
    equal('slices of speedscope', slices, len(truth.slices))
    equal('slices of pprof', count, len(truth.slices))
    equal('pprof and folded', clean(profile), lines)
    if not truth.slices:
        return
    # Speedscope cuts what overlaps; the rest of the stacks agrees.
    def rest(stacks):
        return {s: v for s, v in stacks.items() if 'plain' not in s}

    equal('speedscope and folded', rest(clean(evented)), rest(lines))
    ml = sum(1 for s in truth.slices if s['kind'] == 'ml')
    require(sum(v for (k, _), v in labels.items() if k == 'category') >= ml, 'labels of ML events')
    if any(s['kind'] == 'stage' for s in truth.slices):
        require(('model', 'llm') in labels and ('category', 'inference') in labels, f'{labels}')


main()
