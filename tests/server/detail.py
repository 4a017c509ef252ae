# SPDX-License-Identifier: Apache-2.0
"""Answers against a straightforward recomputation from `inferogram query`: detail.py URL TRACE INFEROGRAM CASE"""

import bisect
import json
import random
import subprocess
import sys
import urllib.parse

from client import Server

UNFINISHED, MERGED, OUTLINE = 1, 2, 4


class Trace:
    def __init__(self, server, path, tool):
        self.server, self.path, self.tool = server, path, tool
        self.meta = server.json('t/0/meta')
        self.length = self.meta['length_ns']
        self.random = random.Random(4711)

    def rows(self, sql):
        text = subprocess.run([self.tool, 'query', self.path, sql, '--json', '--max-rows', '0'], check=True,
                              capture_output=True, text=True).stdout
        return json.loads(text)['rows']

    def tracks(self, *kinds):
        return [track for track in self.meta['tracks'] if track['kind'] in kinds]

    def ranges(self, count=15):
        """(t0, t1, px): everything, and parts of all sizes."""
        yield 0, self.length + 1, 1600
        for _ in range(count):
            width = self.length / 10 ** self.random.uniform(0, 5)
            t0 = self.random.uniform(0, self.length - width)
            yield t0, t0 + max(width, 1), self.random.choice([200, 1600, 4000])


def check_rows(answer, slices, least):
    """slices: row -> [(start, duration, id, location, unfinished)] by start. What is long is there as itself, merged items
    stand for all others, and nothing is out of order."""
    seen = {}
    for i in range(answer['n']):
        seen.setdefault(answer['row'][i], []).append(i)
    assert list(answer['row']) == sorted(answer['row'])
    for row in set(seen) | set(slices):
        inside = [s for s in slices.get(row, []) if s[0] < answer['t1'] and (s[0] >= answer['t0'] or s[0] + s[1] > answer['t0'])]
        items = seen.get(row, [])
        assert sum(answer['count'][i] for i in items) == len(inside), (row, len(items), len(inside))
        starts = [answer['start'][i] for i in items]
        assert starts == sorted(starts)
        exact = {answer['id'][i]: i for i in items if answer['count'][i] == 1}
        where = {s[2]: s for s in inside}
        for start, duration, number, location, unfinished in inside:
            if duration >= least:
                i = exact[number]
                assert answer['start'][i] == start and answer['location'][i] == location, (row, number)
                assert abs(answer['duration'][i] - duration) <= duration * 1e-6, (row, number)
                assert bool(answer['flags'][i] & UNFINISHED) == bool(unfinished), (row, number)
        for i in items:
            own = where[answer['id'][i]]
            assert bool(answer['flags'][i] & MERGED) == (answer['count'][i] > 1)
            if answer['count'][i] > 1:
                end = answer['start'][i] + answer['duration'][i]
                group = [s for s in inside if answer['start'][i] <= s[0] < end]
                assert own[1] == max(s[1] for s in group[:answer['count'][i]]), (row, own, group[:3])
                assert own[1] < least and own[3] == answer['location'][i]


def threads(trace):
    for track in trace.tracks('thread'):
        slices = {}
        tid = track['sub'].split()[-1]
        for row in trace.rows(f'SELECT depth, start_ns, dur_ns, id, location, unfinished FROM slice WHERE thread = {tid} ORDER BY id'):
            slices.setdefault(row[0], []).append(tuple(row[1:]))
        assert sum(len(rows) for rows in slices.values()) == track['count'], track
        for t0, t1, px in trace.ranges():
            answer = trace.server.columns(f't/0/lod?track={track["id"]}&t0={t0}&t1={t1}&px={px}')
            assert answer['rows'] == track['rows'] == len(slices), track
            assert answer['t0'] <= t0 and answer['t1'] >= min(t1, trace.length), (answer['t0'], t0, answer['t1'], t1)
            width = -(-min(t1, trace.length + 1) // 1) - t0 // 1
            check_rows(answer, slices, width / px * 3 + 1e-6)


def models(trace):
    """Every ML event is in its three tracks once, and nothing overlaps in a row."""
    events = trace.rows("SELECT id, model, function, start_ns, dur_ns FROM slice WHERE kind = 'ml'")
    assert events
    for track in trace.tracks('ml', 'model', 'function'):
        model = trace.meta['models'][track['model']]['name'] if track['model'] >= 0 else None
        wanted = [e for e in events if track['kind'] == 'ml' or (e[1] == model and (track['kind'] == 'model' or e[2] == track['label']))]
        assert track['count'] == len(wanted), track
        answer = trace.server.columns(f't/0/lod?track={track["id"]}&t0=0&t1={trace.length + 1}&px=1600')
        assert sum(answer['count']) == len(wanted) and answer['rows'] == track['rows'], track
        # Close enough to see each by itself.
        for event in trace.random.sample(wanted, min(40, len(wanted))):
            t0, t1 = event[3] - 10, event[3] + event[4] + 10
            answer = trace.server.columns(f't/0/lod?track={track["id"]}&t0={max(t0, 0)}&t1={t1}&px=16384')
            assert event[0] in answer['id'], (track, event)
            ends = {}
            for i in range(answer['n']):
                row = answer['row'][i]
                assert answer['start'][i] >= ends.get(row, -1) - 1, (track, row, i)
                ends[row] = answer['start'][i] + answer['duration'][i] * (1 - 1e-6)


def operators(trace):
    """Operators are all there; an inference without any is an outline."""
    for track in trace.tracks('ops'):
        model = trace.meta['models'][track['model']]['name']
        ops = trace.rows(f"SELECT id FROM slice WHERE kind = 'op' AND model = '{model}'")
        bare = trace.rows(f"""SELECT id FROM slice s WHERE kind = 'ml' AND category = 'inference' AND model = '{model}'
            AND NOT EXISTS (SELECT 1 FROM slice o WHERE o.parent_id = s.id AND o.kind = 'op')""")
        answer = trace.server.columns(f't/0/lod?track={track["id"]}&px=1600')
        assert track['count'] == len(ops)
        assert sum(answer['count']) == len(ops) + len(bare), (sum(answer['count']), len(ops), len(bare))
        if bare:
            start, length = trace.rows(f'SELECT start_ns, dur_ns FROM slice WHERE id = {bare[0][0]}')[0]
            answer = trace.server.columns(f't/0/lod?track={track["id"]}&t0={start}&t1={start + length}&px=1000')
            at = list(answer['id']).index(bare[0][0])
            assert answer['flags'][at] & OUTLINE


def counters(trace):
    for track in trace.tracks('counter'):
        location = int(track['id'][1:])
        values = trace.rows(f'SELECT time_ns, value FROM counter WHERE location = {location} ORDER BY time_ns')
        assert track['count'] == len(values) and track['min'] == min(v[1] for v in values), track
        answer = trace.server.columns(f't/0/counter?track={track["id"]}&px=16000')
        assert abs(max(answer['max']) - track['max']) <= abs(track['max']) * 1e-6
        assert len(answer['time']) <= len(values)
        answer = trace.server.columns(f't/0/counter?track={track["id"]}&px=1')
        assert answer['n'] <= 4 and abs(min(answer['min']) - track['min']) <= abs(track['min']) * 1e-6 + 1e-9


def slices(trace):
    rows = trace.rows('SELECT id, name, start_ns, dur_ns, depth, parent_id, location, thread, kind FROM slice')
    by_location = {}
    for row in rows:
        by_location.setdefault(row[6], []).append(row)
    for row in trace.random.sample(rows, min(30, len(rows))):
        got = trace.server.json(f't/0/slice?id={row[0]}')
        assert [got['start'], got['duration'], got['depth'], got['parent'], got['location'], got['thread']['tid'], got['kind']] == \
            [row[2], row[3], row[4], row[5], row[6], row[7], row[8]], (got, row)
        same = by_location[row[6]]
        durations = sorted(other[3] for other in same)
        assert got['same']['n'] == len(same) == sum(got['histogram']['bins'])
        assert abs(got['same']['median'] - (durations[(len(same) - 1) // 2] + durations[len(same) // 2]) / 2) < 1
        assert got['same']['min'] == durations[0] and got['same']['max'] == durations[-1]
        assert abs(got['same']['rank'] - bisect.bisect_left(durations, row[3]) / len(same)) < 1e-9
        before = [other for other in same if other[2] < row[2]]
        after = [other for other in same if other[2] > row[2]]
        start = {other[0]: other[2] for other in same}
        assert start.get(got['same']['previous']) == max((other[2] for other in before), default=None)
        assert start.get(got['same']['next']) == min((other[2] for other in after), default=None)
        children = [other for other in rows if other[5] == row[0]]
        assert sum(child['count'] for child in got['children']) == len(children)
        assert sum(child['total_ns'] for child in got['children']) == sum(child[3] for child in children)
        found = trace.server.json(f't/0/next?locations={row[6]}&from={row[2] - 1}&dir=1')
        assert found['start'] == row[2], (found, row)


def search(trace):
    name = trace.rows('SELECT name FROM slice LIMIT 1')[0][0]
    got = trace.server.json(f't/0/find?q={name.upper().replace(" ", "%20")}&limit=500')
    hit = [h for h in got['hits'] if h['name'] == name]
    count, total = trace.rows(f"SELECT count(*), sum(dur_ns) FROM slice WHERE name = '{name}'")[0]
    assert sum(h['count'] for h in hit) == count and sum(h['total_ns'] for h in hit) == total, (hit, count, total)
    locations = ','.join(str(h['location']) for h in hit)
    marks = trace.server.json(f't/0/marks?locations={locations}&px=100')['marks']
    wanted = sorted({int(row[0] / (trace.length + 1) * 100) for row in trace.rows(f"SELECT start_ns FROM slice WHERE name = '{name}'")})
    assert marks == wanted, (marks, wanted)


def events(trace):
    """Slices and async spans: (name, location, start, end)."""
    return [row for table in ('slice', 'async_span') for row in trace.rows(f'SELECT name, location, start_ns, end_ns FROM {table}')]


def selection(trace):
    everything = events(trace)
    for t0, t1, _ in trace.ranges(4):
        t0, t1 = int(t0), int(t1) + 1
        inside = [(name, location, min(end, t1) - max(start, t0), end - start) for name, location, start, end in everything
                  if start < t1 and (end > t0 or start >= t0)]
        got = trace.server.json(f't/0/range?t0={t0}&t1={t1}')
        for row in got['rows'][:6]:
            parts = [part for _, location, part, _ in inside if location == row['location']]
            assert [row['count'], row['total_ns']] == [len(parts), sum(parts)], (row, len(parts), sum(parts))
        check_filtered(trace, t0, t1, inside)


def check_filtered(trace, t0, t1, inside):
    """Only a model, only names with a text in them, both; a filter that nothing passes."""
    locations = trace.meta['locations']
    text = inside[0][0][1:].upper() if inside else 'X'
    for model, part in [(None, text), (None, 'there is no such'), (0, None), (0, text)]:
        if model is not None and not trace.meta['models']:
            continue
        passing = [event for event in inside if (model is None or locations[event[1]]['model'] == model) and (not part or part in event[0].upper())]
        query = ('' if model is None else f'&model={model}') + ('' if part is None else '&q=' + urllib.parse.quote(part))
        got = trace.server.json(f't/0/range?t0={t0}&t1={t1}{query}')
        wanted = [len(passing), sum(event[2] for event in passing), max((event[3] for event in passing), default=None)]
        assert [got['events'][key] for key in ('n', 'total_ns', 'max_ns')] == wanted, (query, got['events'], wanted)
        runs = [event for event in passing if locations[event[1]]['category'] == 'inference' and locations[event[1]]['kind'] == 'ml']
        assert got['inferences']['n'] + got['inferences']['open'] == len(runs), (query, got['inferences'], len(runs))
        assert len(got['rows']) == min(len({event[1] for event in passing}), 40), (query, got['rows'])


def asyncs(trace):
    """Async spans have numbers after the slices; each is compared with those of its location, and found by its name."""
    slices = trace.rows('SELECT count(*) FROM slice')[0][0]
    spans = trace.rows('SELECT location, start_ns, dur_ns, name FROM async_span ORDER BY id')
    assert spans
    for number, (location, start, duration, name) in list(enumerate(spans))[::max(1, len(spans) // 20)]:
        got = trace.server.json(f't/0/slice?id={slices + number}')
        alike = [(other[1], other[2], slices + i) for i, other in enumerate(spans) if other[0] == location]
        lengths = sorted(other[1] for other in alike)
        assert [got['name'], got['location'], got['start'], got['duration']] == [name, location, start, duration], got
        assert [got['same'][key] for key in ('n', 'min', 'max')] == [len(alike), lengths[0], lengths[-1]], got['same']
        assert abs(got['same']['rank'] - sum(one < duration for one in lengths) / len(lengths)) < 1e-9, got['same']
        assert sum(got['histogram']['bins']) == len(alike), got['histogram']
        before = max((other for other in alike if other[0] < start), default=None, key=lambda other: other[0])
        after = min((other for other in alike if other[0] > start), default=None, key=lambda other: other[0])
        for key, wanted in (('previous', before), ('next', after)):
            # several may begin at once
            found = got['same'][key]
            assert (found is None) == (wanted is None) and (found is None or spans[found - slices][1] == wanted[0]), (key, found, wanted)
        hits = [hit for hit in trace.server.json(f't/0/find?q={urllib.parse.quote(name)}&limit=500')['hits'] if hit['location'] == location]
        here = trace.rows(f'SELECT count(*), coalesce(sum(dur_ns), 0) FROM slice WHERE location = {location}')[0]
        assert [hits[0]['count'], hits[0]['total_ns']] == [here[0] + len(alike), here[1] + sum(lengths)], (hits, here)
        if not here[0]:
            got = trace.server.json(f't/0/next?locations={location}&from={start - 1 if start else -1}')
            assert got['start'] == start and got['id'] >= slices, got


def length(trace):
    """One length of a recording for all who ask: from the first thing in it to the last."""
    info, report = (json.loads(subprocess.run([trace.tool, what, '--json', trace.path], check=True, capture_output=True, text=True).stdout)
                    for what in ('info', 'report'))
    entry = trace.server.json('traces')['traces'][0]
    listed = entry['length_ns']
    assert entry['title'] == trace.server.json('t/0/meta')['title'][:250], entry
    assert entry['start'] == '' or (entry['start'][4], entry['start'][10], entry['start'][-1]) == ('-', 'T', 'Z'), entry
    assert trace.length == info['end_ns'] - info['begin_ns'] == listed, (trace.length, listed, info['begin_ns'], info['end_ns'])
    for said in (info, report):
        assert abs(said['duration_s'] * 1e9 - max(trace.length, 1)) < 2, (said['duration_s'], trace.length)


if __name__ == '__main__':
    globals()[sys.argv[4]](Trace(Server(sys.argv[1]), sys.argv[2], sys.argv[3]))
