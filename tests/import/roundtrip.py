# SPDX-License-Identifier: Apache-2.0
"""Makes Chrome traces and compares them, independently of the importer and the exporter.

roundtrip.py make FILE SEED       a trace with everything that survives a round trip
roundtrip.py compare A B          counts, names and times within 1 us; prints what differs, exits 1
roundtrip.py large FILE EVENTS    many events, in an order that is no order
"""
import collections
import json
import random
import sys


def make(path, seed):
    rng = random.Random(seed)
    events = [{'ph': 'M', 'name': 'process_name', 'pid': 7, 'args': {'name': 'server'}},
              {'ph': 'M', 'name': 'thread_name', 'pid': 7, 'tid': 8, 'args': {'name': 'worker "1"'}}]

    def zones(tid, start, length, depth):
        if depth > 4 or length < 4:
            return
        name = rng.choice(['read', 'wr\\ite', 'naïve "quoted"', 'x' * 40])
        event = {'name': name, 'pid': 7, 'tid': tid, 'ts': round(start, 3)}
        if rng.random() < 0.5:
            event.update(ph='X', dur=round(length, 3))
            if rng.random() < 0.5:
                event['args'] = {'n': rng.randrange(100), 'f': 1.5, 's': 'té"xt', 'l': [1, {'a': 2}]}
            events.append(event)
        else:
            events.append(dict(event, ph='B'))
            events.append({'ph': 'E', 'pid': 7, 'tid': tid, 'ts': round(start + length, 3)})
        at = start + 0.5
        while at < start + length - 2:
            inner = rng.uniform(0.5, max(0.6, (start + length - at) / 2))
            if at + inner >= start + length:
                break
            zones(tid, at, inner, depth + 1)
            at += inner + rng.uniform(0.1, 3)

    for i in range(200):
        zones(8 + i % 3, 1e9 + i * 1000 + 0.125, rng.uniform(1, 900), 0)
    for i in range(100):
        events.append({'ph': 'C', 'name': 'queue', 'pid': 7, 'ts': 1e9 + i, 'args': {'value': i * 0.5}})
        events.append({'ph': 'i', 'name': f'mark {i % 5}', 'pid': 7, 'tid': 8, 'ts': 1e9 + i + 0.5, 's': 't'})
        events.append({'ph': 'b', 'name': 'request', 'cat': 'a', 'id': hex(i), 'pid': 7, 'tid': 8, 'ts': 1e9 + i})
        events.append({'ph': 'e', 'name': 'request', 'cat': 'a', 'id': hex(i), 'pid': 7, 'tid': 9, 'ts': 1e9 + i + 55})
        flow = {'name': f'flow {i % 2}', 'cat': 'a', 'id': i, 'pid': 7}
        events.append(dict(flow, ph='s', tid=8, ts=1e9 + i * 1000 + 1))
        events.append(dict(flow, ph='t', tid=9, ts=1e9 + i * 1000 + 500))
        events.append(dict(flow, ph='f', tid=10, ts=1e9 + i * 1000 + 900.125, **({'bp': 'e'} if i % 3 else {})))
    head, rest = events[:2], events[2:]
    rest.sort(key=lambda e: (e['ts'], e['ph'] != 'E'))
    with open(path, 'w', encoding='utf-8') as out:
        json.dump({'traceEvents': head + rest}, out)


def facts(path):
    """Everything with a time: (what, name, thread) -> sorted times in ns."""
    with open(path, encoding='utf-8') as text:
        data = json.load(text)
    events = data['traceEvents'] if isinstance(data, dict) else data
    found = collections.defaultdict(list)
    stacks = collections.defaultdict(list)
    for event in sorted((e for e in events if 'ts' in e), key=lambda e: e['ts']):
        phase, thread, ts = event['ph'], event.get('tid'), event['ts'] * 1000
        if phase == 'X':
            found['zone', event['name'], thread].append((ts, event['dur'] * 1000))
        elif phase == 'B':
            stacks[thread].append(event)
        elif phase == 'E':
            begin = stacks[thread].pop()
            found['zone', begin['name'], thread].append((begin['ts'] * 1000, ts - begin['ts'] * 1000))
        elif phase in 'be':
            found[phase, event['name'], thread].append((ts, 0))
        elif phase in 'stf':
            number = int(str(event['id']), 0)
            found[phase, event['name'], number, thread, event.get('bp')].append((ts, 0))
        elif phase == 'C':
            found['counter', event['name'], event['args']['value']].append((ts, 0))
        elif phase == 'i':
            found['mark', event['name'], thread].append((ts, 0))
    names = {(e['name'], e.get('tid') if e['name'] == 'thread_name' else None, e['args']['name'])
             for e in events if e['ph'] == 'M' and 'name' in e['args']}
    first = min(t for times in found.values() for t, _ in times)
    return {key: sorted((t - first, d) for t, d in times) for key, times in found.items()}, names


def compare(left, right):
    (a, names_a), (b, names_b) = facts(left), facts(right)
    bad = [f'only in one: {key}' for key in set(a) ^ set(b)]
    bad += [f'name: {name}' for name in names_a - names_b]
    worst = 0
    for key in set(a) & set(b):
        if len(a[key]) != len(b[key]):
            bad.append(f'{key}: {len(a[key])} and {len(b[key])}')
            continue
        for (t, d), (u, e) in zip(a[key], b[key]):
            worst = max(worst, abs(t - u), abs(d - e))
    count = sum(map(len, a.values()))
    print(f'{count} events of {len(a)} kinds, the largest difference is {worst:.3f} ns')
    print('\n'.join(bad[:20]))
    return 1 if bad or worst > 1000 or not count else 0


def large(path, count):
    rng = random.Random(1)
    with open(path, 'w', encoding='utf-8') as out:
        out.write('[\n')
        for i in range(count):
            start = rng.randrange(10 ** 9)
            out.write('{"name":"zone %d","cat":"c","ph":"X","pid":1,"tid":%d,"ts":%d.%03d,"dur":%d,"args":{"i":%d}},\n'
                      % (i % 100, i % 4, start, i % 1000, i % 50, i))
    return 0


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        sys.exit(make(sys.argv[2], int(sys.argv[3])))
    if sys.argv[1] == 'large':
        sys.exit(large(sys.argv[2], int(sys.argv[3])))
    sys.exit(compare(sys.argv[2], sys.argv[3]))
