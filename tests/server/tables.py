# SPDX-License-Identifier: Apache-2.0
"""Tables and trees of the page: tables.py URL INFEROGRAM CASE [ARGUMENTS]. The traces are those of the server, by name."""

import json
import subprocess
import sys

from client import Server

MS = 1000000
QUESTIONS = ['report', 'memory', 'flame', 'flame?mode=time', 'flame?model=0', 'flame?op=Conv&thread=t0', 'stats', 'stats?by=thread', 'stats?by=op&q=C',
             'stats?mode=sampling', 'stats?mode=sampling&q=r', 'stats?by=model&model=0', 'ops?model=0', 'switches?model=0', 'annotate?function=0',
             'annotate?function=1', 'annotate?function=3&model=0', 'flame?t0=1&t1=2', 'flows', 'flows?slice=0', 'flows?slice=1', 'flows?t0=1&t1=2']


class Test:
    def __init__(self, server, tool):
        self.server, self.tool = server, tool
        self.traces = {trace['name'].rsplit('.', 1)[0]: trace for trace in server.json('traces')['traces']}

    def get(self, trace, question, expect=200):
        return self.server.json(f't/{self.traces[trace]["id"]}/{question}', expect)

    def command(self, *arguments):
        """What a command prints; its paths are names of traces here."""
        paths = [self.traces[a]['path'] if a in self.traces else a for a in arguments]
        return json.loads(subprocess.run([self.tool, *paths], check=False, capture_output=True, text=True).stdout)


def check_flame(flame):
    """Nothing is lost or counted twice; nodes come before their children."""
    nodes = flame['nodes']
    below = [0] * len(nodes)
    path = []
    for i, node in enumerate(nodes):
        while path and path[-1] != node['p']:
            path.pop()
        assert node['p'] == (path[-1] if path else -1), (i, node)
        path.append(i)
        assert 0 <= node['i'] <= 1 and node['v'] > 0 and (node['f'] >= 0 or node['n'] == '…'), node
        if node['p'] >= 0:
            below[node['p']] += node['v']
    for node, sum_below in zip(nodes, below):
        assert sum_below + node['s'] == node['v'], node
    assert sum(node['s'] for node in nodes) == flame['samples'], flame['samples']
    assert sum(node['v'] for node in nodes if node['p'] < 0) == flame['samples']
    assert len(nodes) <= 20000


def children(flame, parent):
    return [node for node in flame['nodes'] if node['p'] == parent]


def case_flame(test):
    functions = [r['name'] for r in test.get('profile', 'functions')['functions']]
    begin = 1 * MS  # the trace begins with a switch, before the first event
    for question, samples in [('flame', 100), ('flame?mode=time', 100), ('flame?op=Conv', 50), ('flame?op=nothing', 0), ('flame?model=0', 80),
                              ('flame?thread=9001', 50), ('flame?thread=t0', 50), ('flame?thread=nobody', 0),
                              (f'flame?t0={begin}&t1={begin + 12 * MS}', 10), (f'flame?t0={begin}&t1={begin + 12 * MS}&model=0&op=Conv&thread=5000', 3)]:
        flame = test.get('profile', question)
        assert flame['samples'] == samples, (question, flame['samples'])
        check_flame(flame)
        for node in flame['nodes']:
            assert node['n'] == functions[node['f']], node
    flame = test.get('profile', 'flame')
    for i in range(-1, len(flame['nodes'])):
        values = [node['v'] for node in children(flame, i)]
        assert values == sorted(values, reverse=True), values
    assert [n['n'] for n in test.get('profile', 'flame?mode=time')['nodes'] if n['p'] < 0] == ['main', 'pool::Worker::(virtual 2)']
    worker = [n for n in flame['nodes'] if n['n'].startswith('pool')][0]
    assert abs(worker['i'] - 0.2) < 1e-9, worker
    assert test.get('plain', 'flame') == {'schema': 1, 'samples': 0, 'folded': 0, 'nodes': []}


def case_stats(test):
    keys = {'name', 'model', 'count', 'total_ns', 'self_ns', 'mean_ns', 'min_ns', 'max_ns', 'p50_ns', 'p90_ns', 'p99_ns', 'share', 'location'}
    for trace in ['showcase', 'profile', 'many', 'plain']:
        locations = test.get(trace, 'meta')['locations']
        for by in ['zone', 'model', 'category', 'op', 'thread', 'function']:
            told = test.get(trace, f'stats?by={by}')['rows']
            printed = test.command('stats', trace, '--json', '--by', 'model-function' if by == 'function' else by)['rows']
            assert [row['name'] for row in told] == [row['name'] for row in printed], (trace, by)
            for one, other in zip(told, printed):
                assert keys <= set(one), one
                same = keys & set(other) if one['count'] else {'name', 'count', 'total_ns'}
                assert all(one[key] == other[key] for key in same), (one, other)
                assert (one['location'] == -1) == (by == 'thread') and one['location'] < len(locations)
                if by in ('op', 'zone') and one['kind'] != 'ml':
                    assert locations[one['location']]['name'] == one['name'], one
    rows = test.get('showcase', 'stats?q=INFER')['rows']
    assert rows and all('infer' in row['name'].lower() for row in rows), rows
    whole = test.get('profile', 'stats?by=category')['rows'][0]['count']
    part = test.get('profile', f'stats?by=category&t0=0&t1={30 * MS}')['rows'][0]['count']
    assert (whole, part) == (10, 3), (whole, part)


def case_sampling(test):
    told = test.get('profile', 'stats?mode=sampling')
    printed = test.command('stats', 'profile', '--by', 'function', '--json')
    functions = test.get('profile', 'functions')['functions']
    assert told['samples'] == printed['samples'] == 100 and told['lost'] == 3 and told['hz'] == 100, told
    assert [(r['name'], r['self'], r['total']) for r in told['rows']] == [(r['name'], r['self'], r['total']) for r in printed['rows']]
    assert sum(row['self'] for row in told['rows']) == 100
    for row in told['rows']:
        assert functions[row['function']]['name'] == row['name'] and functions[row['function']]['module'] == row['module'], row
    assert [r['name'] for r in test.get('profile', 'stats?mode=sampling&q=RUN%28')['rows']] == ['run(int)']
    assert test.get('profile', 'stats?mode=sampling&q=RUN%28&op=Conv')['rows'][0]['self'] == 20
    assert test.get('plain', 'stats?mode=sampling')['rows'] == []


def case_annotate(test):
    rows = {row['name']: row for row in test.get('profile', 'stats?mode=sampling')['rows']}
    run = test.get('profile', f'annotate?function={rows["run(int)"]["function"]}')
    assert (run['name'], run['module'], run['start'], run['size']) == ('run(int)', 'librun.so', '1000', 256), run
    assert (run['samples'], run['self'], run['total'], run['by_timer']) == (100, 30, 40, True), run
    assert run['why_no_code'] == '' and sum(i['s'] for i in run['code']) == 30 and run['code_count'] == len(run['code'])
    code = {i['a']: i for i in run['code']}
    files = [f['path'] for f in run['files']]
    assert files == ['/src/run.c', '/src/mul.h'], files
    assert code['1010']['s'] == 20 and code['1010']['l'] == [0, 10] and code['1010']['b'] == '90', code['1010']
    assert code['1020']['s'] == 10 and code['1020']['l'] == [1, 3] and code['1020']['j'], code['1020']
    assert code['1030']['b'] == 'ebee' and code['1030']['t'].startswith('jmp') and code['1030']['l'] is None, code['1030']
    lines = {line['line']: line for line in run['files'][0]['lines']}
    assert sorted(lines) == list(range(5, 13)), sorted(lines)  # 10 - 5 to the last one
    assert lines[10] == {'line': 10, 'text': '  sum = 0;', 'self': 20, 'total': 30}, lines[10]
    assert lines[11]['text'] == '  sum += mul(a, b);' and lines[11]['self'] == 0 and lines[11]['total'] == 10, lines[11]
    assert run['files'][1]['lines'] == [{'line': 3, 'text': None, 'self': 10, 'total': 10}], run['files'][1]
    part = test.get('profile', f'annotate?function={rows["run(int)"]["function"]}&t0={MS}&t1={13 * MS}')
    assert part['samples'] == 10 and part['self'] == 3, part
    kernel = test.get('profile', f'annotate?function={rows["do_page"]["function"]}')
    assert kernel['code'] == [] and kernel['why_no_code'], kernel
    assert 'no samples' in test.get('profile', f'annotate?function={rows["spin"]["function"]}&thread=5000', 422)['error']


def case_ops(test):
    for trace in ['profile', 'showcase', 'many']:
        report = test.get(trace, 'report')
        models = test.get(trace, 'meta')['models']
        assert models
        for model in models[:20]:
            ops = test.get(trace, f'ops?model={model["id"]}')
            same = [m for m in report['models'] if m['name'] == model['name'] and m['path'] == model['path']]
            nodes = sum(sum(t['provider'].values()) for t in ops['types'])
            assert nodes == sum(t['count'] for t in ops['types']) == len(ops['nodes']) == ops['node_count'], ops
            if not ops['nodes']:
                continue
            assert abs(sum(t['share'] for t in ops['types']) - 1) < 1e-6 and abs(sum(n['share'] for n in ops['nodes']) - 1) < 1e-6, ops
            if len(same) == 1 and ops['runs']:
                self_ms = {o['type']: o['self_ms'] for o in same[0]['operators']}
                for row in ops['types']:
                    known = self_ms[row['type'] or '(type not known)']
                    assert abs(row['per_run_ns'] * ops['runs'] - known * MS) < 1 + known * 10, (row, known)
                assert same[0]['profiling']['inferences'] == ops['runs'], (same[0]['profiling'], ops['runs'])
    ops = test.get('profile', 'ops?model=0')
    assert ops['runs'] == 10 and ops['nodes'][0]['name'] == 'Conv' and ops['nodes'][0]['per_run_ns'] == 5 * MS, ops


def case_switches(test):
    rows = test.get('profile', 'switches?model=0')
    assert len(rows) == 10, rows
    for row in rows:
        slice = test.get('profile', f'slice?id={row["slice"]}')
        assert slice['category'] == 'inference' and slice['start'] == row['start'] and slice['duration'] == row['duration'] == 10 * MS, row
        assert slice['states'] == {key: row[key] for key in ('running_ns', 'runnable_ns', 'blocked_ns')}, (slice['states'], row)
        assert row['runnable_ns'] == 2 * MS, row
    assert test.get('showcase', 'switches?model=0') == []


def without_rooflines(report):
    """The server opens no files that a trace names, so it has none."""
    for model in report['models']:
        model.pop('roofline', None)
        for operator in model['operators']:
            operator.pop('roofline', None)
    return report


def case_documents(test):
    for trace in ['profile', 'showcase', 'many', 'odd', 'plain', 'empty']:
        assert test.get(trace, 'report') == without_rooflines(test.command('report', trace, '--json')), trace
        memory = test.get(trace, 'memory')
        assert memory.get('memory') == test.get(trace, 'report').get('memory'), trace
        for series in memory['series']:
            times = [point[0] for point in series['points']]
            assert times == sorted(times) and len(times) <= 1000, series['name']
    for a, b in [('profile', 'plain'), ('showcase', 'showcase'), ('plain', 'empty')]:
        ids = test.traces[a]['id'], test.traces[b]['id']
        assert test.server.json(f'compare?a={ids[0]}&b={ids[1]}') == test.command('diff', a, b, '--json'), (a, b)
    # Of one of the two every inference was slowed down by recording its operators.
    uneven = test.server.json(f"compare?a={test.traces['profile']['id']}&b={test.traces['showcase']['id']}", 400)
    assert 'Record both with --ops, or both without' in uneven['error'], uneven
    good, bad = test.traces['plain']['id'], test.traces['bad']['id']
    assert test.server.json(f'compare?a={good}&b={good}&threshold=20')['threshold'] == 0.2
    assert 'bad.ifg' in test.server.json(f'compare?a={good}&b={bad}', 422)['error']


def case_parameters(test):
    for question in ['ops', 'ops?model=', 'ops?model=1', 'ops?model=-1', 'ops?model=0x0', 'switches', 'switches?model=99999999999999999999', 'annotate',
                     'annotate?function=100000', 'annotate?function=1&model=7', 'flame?mode=sideways', 'flame?t0=2&t1=1', 'flame?t0=nan', 'flame?model=1',
                     'stats?by=everything', 'stats?mode=guess', 'stats?q=' + 'x' * 401, 'flame?op=' + 'x' * 401, 'flame?thread=' + 'x' * 401,
                     'flows?slice=', 'flows?slice=-1', 'flows?slice=1e1', 'flows?slice=99999999999999999999', 'flows?slice=4294967295', 'flows?t0=2&t1=1',
                     'flows?t0=nan', 'flows?slice=0&t1=x']:
        assert test.get('profile', question, 400)['error'], question
    for question in ['compare', 'compare?a=0', 'compare?a=0&b=1000', 'compare?a=x&b=0', 'compare?a=0&b=0&threshold=0', 'compare?a=0&b=0&threshold=inf']:
        assert test.server.json(question, 400)['error'], question
    assert test.get('profile', 'flame?t0=-1e300&t1=1e300')['samples'] == 100
    assert test.get('profile', 'stats?q=%27%22%3C%5C%25%E2%80%A6')['rows'] == []


def case_hostile(test):
    """Whatever is in a file, each question has an answer, and the same one twice."""
    asked = 0
    for trace in test.traces:
        number = test.traces[trace]['id']
        while test.server.ask(f'/api/t/{number}/meta')[0] == 503:
            pass
        for question in QUESTIONS:
            answers = [test.server.ask(f'/api/t/{number}/{question}') for _ in range(2)]
            status, body = answers[0][0], answers[0][2]
            assert status in (200, 400, 422), (trace, question, status, body[:200])
            assert body == answers[1][2], (trace, question)
            document = json.loads(body)
            if status == 200 and question.startswith('flame'):
                check_flame(document)
            asked += 1
    print(asked, 'answers')


def case_real(test):
    """A program that was really sampled, with its sources."""
    trace = 'real'
    flame = test.get(trace, 'flame')
    check_flame(flame)
    hot = test.get(trace, 'stats?mode=sampling')
    assert flame['samples'] == hot['samples'] > 0
    names = {node['n'] for node in flame['nodes']}
    row = [row for row in hot['rows'] if row['name'] == 'hot_in_library'][0]
    assert row['name'] in names
    of = test.get(trace, f'annotate?function={row["function"]}')
    assert of['self'] == row['self'] == sum(i['s'] for i in of['code']), (of['self'], row['self'])
    assert sum(line['self'] for file in of['files'] for line in file['lines']) == of['self'], of['files']
    text = [line['text'] for file in of['files'] for line in file['lines'] if line['self']]
    assert any(text), of['files']
    print(hot['samples'], 'samples, hottest line:', max((line['self'], line['text']) for file in of['files'] for line in file['lines'])[1])


if __name__ == '__main__':
    globals()['case_' + sys.argv[3]](Test(Server(sys.argv[1]), sys.argv[2]))
