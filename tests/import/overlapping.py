# SPDX-License-Identifier: Apache-2.0
"""Chrome traces whose slices overlap on one thread, and what a reader that assumes nothing sees.

overlapping.py make FILE SEED [KIND]        KIND: kineto (as PyTorch writes them) or random
overlapping.py check FILE TRACE INFEROGRAM  every slice, order, range, statistic and argument
overlapping.py same A B                     two Chrome files have the same slices, with cat and args
"""
import json
import random
import sqlite3
import statistics
import subprocess
import sys


def kineto(rng, events):
    """Operators of two threads, runtime calls inside them, kernels of two streams that overlap, and
    arrows from the calls to the kernels. Times are whole microseconds in half of the files: a child
    may then end after its parent, as in traces of older versions of PyTorch."""
    whole = rng.random() < 0.5
    at = 1000.0
    uid = 0

    def add(name, cat, tid, start, duration, **args):
        nonlocal uid
        uid += 1
        number = (lambda x: float(int(x))) if whole else (lambda x: round(x, 3))
        event = {'ph': 'X', 'cat': cat, 'name': name, 'pid': 7, 'tid': tid, 'ts': number(start),
                 'dur': number(duration), 'args': dict(args, uid=uid)}
        events.append(event)
        return event

    for step in range(400):
        tid = 70 + step % 2
        length = rng.uniform(3, 200)
        add(rng.choice(['aten::linear', 'aten::conv2d']), 'cpu_op', tid, at, length, Input_Dims=[[8, 3], []])
        if rng.random() < 0.7:
            add('aten::addmm', 'cpu_op', tid, at, length * rng.uniform(0.5, 1), Sequence=step)
        if rng.random() < 0.3:
            add('aten::linear', 'cpu_op', tid, at, length / 3, Sequence=-step)  # calls itself, at once
        call = add('cudaLaunchKernel', 'cuda_runtime', tid, at + length * 0.4, length * 0.6, correlation=step)
        kernel = add('void gemm<float>("x")', 'kernel', 7 + rng.randrange(2), at + length * rng.uniform(0.5, 3),
                     length * rng.uniform(0.2, 4), correlation=step, grid=[1, 2, 3])
        events.append({'ph': 's', 'cat': 'ac2g', 'name': 'ac2g', 'id': step, 'pid': 7, 'tid': tid, 'ts': call['ts']})
        events.append({'ph': 'f', 'bp': 'e', 'cat': 'ac2g', 'name': 'ac2g', 'id': step, 'pid': 7,
                       'tid': kernel['tid'], 'ts': kernel['ts']})
        at += length * rng.uniform(0.6, 1.5)


def anything(rng, events):
    for uid in range(3000):
        start = rng.randrange(3000)
        events.append({'ph': 'X', 'name': rng.choice('abcdef'), 'cat': rng.choice(['x', 'y']), 'pid': 7,
                       'tid': rng.randrange(3), 'ts': start / 4, 'dur': rng.choice([0, 1, 5, 40, 300]) / 4,
                       'args': {'uid': uid}})
    for uid in range(300):  # begins and ends among them
        start = 2.5 * uid
        events.append({'ph': 'B', 'name': 'begun', 'pid': 7, 'tid': 1, 'ts': start, 'args': {'uid': 10000 + uid}})
        events.append({'ph': 'E', 'pid': 7, 'tid': 1, 'ts': start + 2.25})


def make(path, seed, kind='kineto'):
    rng = random.Random(int(seed))
    events = [{'ph': 'M', 'name': 'thread_name', 'pid': 7, 'tid': 7, 'args': {'name': 'stream 7'}}]
    (anything if kind == 'random' else kineto)(rng, events)
    rng.shuffle(events)
    begins = sorted((e for e in events if e['ph'] in 'BE'), key=lambda e: e['ts'])
    with open(path, 'w', encoding='utf-8') as out:
        json.dump({'traceEvents': [e for e in events if e['ph'] not in 'BE'] + begins}, out)


def slices_of(path):
    with open(path, encoding='utf-8') as text:
        events = json.load(text)['traceEvents']
    rows, begun = [], []
    for event in events:
        if event['ph'] == 'X' and event.get('cat') != 'thread_state':
            rows.append((event, round(event['ts'] * 1000), round(event['dur'] * 1000)))
        elif event['ph'] == 'B':
            begun.append(event)
        elif event['ph'] == 'E':
            first = begun.pop()
            rows.append((first, round(first['ts'] * 1000), round((event['ts'] - first['ts']) * 1000)))
    return rows, events


def ask(inferogram, trace, sql):
    out = subprocess.run([inferogram, 'query', trace, sql, '--json', '--max-rows', '0'], capture_output=True, check=True)
    return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in json.loads(out.stdout)['rows']]


wrong = 0


def same(what, ours, theirs):
    global wrong
    if ours != theirs:
        wrong += 1
        differ = [(a, b) for a, b in zip(ours, theirs) if a != b][:3] if isinstance(ours, list) else (ours, theirs)
        print(f'{what}: {len(ours) if isinstance(ours, list) else ""} differ from'
              f' {len(theirs) if isinstance(theirs, list) else ""}: {differ}')


def check(path, trace, inferogram):
    rows, events = slices_of(path)
    begin = min(start for _, start, _ in rows)
    table = sqlite3.connect(':memory:')
    table.execute('CREATE TABLE slice (uid, name, thread, start_ns, dur_ns, end_ns)')
    table.executemany('INSERT INTO slice VALUES (?,?,?,?,?,?)',
                      [(e['args']['uid'], e['name'], e['tid'], start - begin, length, start - begin + length)
                       for e, start, length in rows])
    middle, late = sorted(start - begin for _, start, _ in rows)[len(rows) // 2], max(s - begin for _, s, _ in rows)
    for sql in ('SELECT count(*), sum(dur_ns), min(start_ns), max(end_ns) FROM slice',
                f'SELECT name, start_ns, dur_ns FROM slice WHERE start_ns < {middle} ORDER BY 1, 2, 3',
                f'SELECT name, start_ns, dur_ns FROM slice WHERE start_ns >= {middle} AND start_ns <= {late} ORDER BY 1, 2, 3',
                f'SELECT count(*) FROM slice WHERE start_ns BETWEEN {middle // 2} AND {middle} AND thread = 7',
                'SELECT start_ns FROM slice ORDER BY start_ns',
                'SELECT start_ns FROM slice ORDER BY start_ns DESC',
                'SELECT thread, count(*), sum(dur_ns) FROM slice GROUP BY thread ORDER BY thread',
                'SELECT name, count(*), max(start_ns) FROM slice GROUP BY name ORDER BY name',
                f'SELECT name, start_ns FROM slice WHERE end_ns > {middle} AND start_ns <= {middle} ORDER BY 1, 2'):
        same(sql, ask(inferogram, trace, sql), table.execute(sql).fetchall())

    # Each slice has its own arguments, and none of another's.
    uids = ask(inferogram, trace, "SELECT a.value, s.name, s.thread, s.start_ns, s.dur_ns FROM attribute a JOIN slice s"
                                  " ON s.id = a.slice WHERE a.key = 'uid' ORDER BY 1")
    same('uid of each slice', [(int(uid), *rest) for uid, *rest in uids],
         table.execute('SELECT uid, name, thread, start_ns, dur_ns FROM slice ORDER BY 1').fetchall())
    same('slices with two', ask(inferogram, trace, "SELECT count(*) FROM (SELECT slice FROM attribute GROUP BY slice, key"
                                                   " HAVING count(*) > 1)"), [(0,)])
    same('arguments', ask(inferogram, trace, "SELECT count(*) FROM attribute WHERE key != 'cat'"),
         [(sum(len(e.get('args', ())) for e, _, _ in rows),)])
    same('arguments without a slice', ask(inferogram, trace, 'SELECT attributes_without_slice FROM trace_info'), [(0,)])

    # A tree: nothing begins before or ends after what it is said to lie in, and self times add up.
    same('children that stick out', ask(inferogram, trace, 'SELECT count(*) FROM slice c JOIN slice p ON p.id = c.parent_id'
                                        ' WHERE c.start_ns < p.start_ns OR c.end_ns > p.end_ns'), [(0,)])
    same('self times', ask(inferogram, trace, 'SELECT count(*) FROM slice s WHERE self_ns != dur_ns - coalesce((SELECT'
                           ' sum(c.dur_ns) FROM slice c WHERE c.parent_id = s.id), 0) OR self_ns < 0'), [(0,)])

    # Statistics of a range, of everything, and with units.
    for first, end in ((0, middle), (middle // 3, middle), (middle, late + 1)):
        expected = {}
        for name, length in table.execute('SELECT name, dur_ns FROM slice WHERE start_ns >= ? AND start_ns < ?', (first, end)):
            expected.setdefault(name, []).append(length)
        expected = sorted((name, len(x), sum(x), min(x), max(x), float(statistics.median(x))) for name, x in expected.items())
        same(f'zone_stats({first}, {end})', ask(inferogram, trace, 'SELECT name, count, total_ns, min_ns, max_ns, p50_ns FROM'
             f' zone_stats({first}, {end}) ORDER BY name'), expected)
        out = subprocess.run([inferogram, 'stats', trace, '--from', f'{first / 1000}us', '--to', f'{end / 1000}us', '--limit', '0',
                              '--json'], capture_output=True, check=True)
        same('stats --from --to', sorted((r['name'], r['count'], r['total_ns']) for r in json.loads(out.stdout)['rows']),
             [row[:3] for row in expected])

    # Arrows lead from the call to the kernel that the file means.
    arrows = [(e['id'], e) for e in events if e['ph'] == 'f']
    if arrows:
        found = ask(inferogram, trace, "SELECT b.value, a.value FROM flow f JOIN attribute a ON a.slice = f.from_slice AND"
                    " a.key = 'correlation' JOIN attribute b ON b.slice = f.to_slice AND b.key = 'correlation' ORDER BY 1 + b.value")
        off = sum(a != b for a, b in found)
        if len(found) < 0.95 * len(arrows) or off > 0.05 * len(arrows):  # two may begin in the same microsecond
            same('arrows', (len(found), off), (len(arrows), 0))
    print(f'{len(rows)} slices, {wrong} differences')
    return wrong == 0


def plain(args):
    """Nested values are kept as text."""
    return json.dumps({key: value if isinstance(value, (int, str)) else json.dumps(value) for key, value in args.items()},
                      sort_keys=True)


def compare(left, right):
    def all_of(path):
        begin = min(start for _, start, _ in slices_of(path)[0])
        return sorted((e['name'], e['tid'] % 10000000,  # rows of their own have numbers of their own
                       start - begin, length, e.get('cat', ''), plain(e.get('args', {})))
                      for e, start, length in slices_of(path)[0])
    a, b = all_of(left), all_of(right)
    named = [row for row in a if row[4]]  # what had no category gets one
    same('slices', [row[:4] + row[5:] for row in b], [row[:4] + row[5:] for row in a])
    same('categories', [row for row in b if row[4] != 'zone'], named)
    print(f'{len(a)} and {len(b)} slices')
    return wrong == 0


if __name__ == '__main__':
    todo = {'make': make, 'check': check, 'same': compare}[sys.argv[1]]
    sys.exit(todo(*sys.argv[2:]) is False)
