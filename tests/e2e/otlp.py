# SPDX-License-Identifier: Apache-2.0
"""What the test of OTLP asks about what the collector got (STATE: its state.json).

  value STATE NAME             the data points of this metric, added up: the count of a histogram
  labels STATE NAME LABEL      the values of an attribute, as Python writes them, each once
  spans STATE                  how many there are
  failed STATE                 how many of them have the status error
  check STATE                  "well-formed", or what is wrong
  quantiles STATE STATS        "within" if each percentile of `stats --json` lies in the bucket where the histogram has it
  times STATE ROWS INFO        "the same" if the spans are the events of `query --json`, with the start of `info --json`
  answers STATE CODE           how often it answered so
  pauses STATE CODE            the shortest time between such an answer and the next request, in whole seconds
  header STATE NAME            what the last request had there
"""

import datetime
import json
import math
import sys


def load(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def total(metric):
    return sum(point['value'] for point in metric['points'])


def check(state):
    wrong = list(state['wrong'])
    for name, metric in state['metrics'].items():
        for point in metric['points']:
            if not 0 < point['start'] <= point['time']:
                wrong.append(f'{name}: times')
            if metric['kind'] == 'histogram':
                bounds = point['bounds']
                if len(bounds) != 27 or bounds[0] != 1e-6 or bounds != sorted(bounds) or len(point['buckets']) != 28:
                    wrong.append(f'{name}: bounds')
                if sum(point['buckets']) != point['value']:
                    wrong.append(f'{name}: count')
        if len({json.dumps(point['labels'], sort_keys=True) for point in metric['points']}) != len(metric['points']):
            wrong.append(f'{name}: two points of the same attributes')
    for span in state['spans']:
        if len(span['trace']) != 32 or len(span['span']) != 16 or not int(span['trace'], 16) or not int(span['span'], 16):
            wrong.append(f'ids of {span["name"]}')
        if span['end'] < span['start'] or span['kind'] != 1:
            wrong.append(f'times or kind of {span["name"]}')
        if set(span['labels']) != {'program', 'model', 'function', 'category', 'device'}:
            wrong.append(f'attributes of {span["name"]}')
        if span['resource'].get('service.name') != span['labels']['program'] or span['resource'].get('process.pid', 0) <= 0:
            wrong.append(f'resource of {span["name"]}')
    for what in ('trace', 'span'):
        if len({span[what] for span in state['spans']}) != len(state['spans']):
            wrong.append(f'{what} ids are not unique')
    if state['metrics'] and state['resource'].get('service.name') != 'inferogram':
        wrong.append('service.name')
    return '; '.join(wrong[:5]) or 'well-formed'


def quantiles(state, stats):
    rows = {row['name']: row for row in load(stats)['rows']}
    compared = 0
    for point in state['metrics']['inferogram.event.duration']['points']:
        row = rows[point['labels']['model']]
        for share, key in ((0.5, 'p50_ns'), (0.9, 'p90_ns'), (0.99, 'p99_ns')):
            rank = (row['count'] - 1) * share  # interpolated between two values: each of the two is in a bucket
            ends = [0] + point['bounds'] + [math.inf]
            low = high = None
            seen = 0
            for bucket, count in enumerate(point['buckets']):
                seen += count
                if low is None and seen > math.floor(rank):
                    low = ends[bucket]
                if high is None and seen > math.ceil(rank):
                    high = ends[bucket + 1]
            if not low * 1e9 - 1 <= row[key] <= high * 1e9 + 1:
                return f'{key} of {point["labels"]}: {row[key]} is not within {low} and {high} s'
            compared += 1
    return 'within' if compared else 'nothing compared'


def times(state, rows, info):
    """The clock of a recording that goes on is known a little less well than afterwards."""
    document = load(rows)
    events = sorted((dict(zip(document['columns'], row)) for row in document['rows']), key=lambda row: row['start_ns'])
    spans = sorted(state['spans'], key=lambda span: span['start'])
    begin = datetime.datetime.fromisoformat(load(info)['start'].replace('Z', '+00:00')).timestamp()
    if len(events) != len(spans):
        return f'{len(events)} events, {len(spans)} spans'
    for event, span in zip(events, spans):
        took = span['end'] - span['start']
        if abs(took - event['dur_ns']) > 1000 + event['dur_ns'] // 100:
            return f'took {took}, {event["dur_ns"]}'
        if abs((span['start'] - spans[0]['start']) - (event['start_ns'] - events[0]['start_ns'])) > 1000000:
            return f'start {span["start"]}, {event["start_ns"]}'
        if event['model'] != span['labels']['model'] or event['category'] != span['labels']['category']:
            return f'{event["model"]}, {span["labels"]}'
        if event['process'] != span['resource']['process.pid']:
            return 'process'
    if not -2 < spans[0]['start'] * 1e-9 - begin - events[0]['start_ns'] * 1e-9 < 2:
        return 'another day'
    return 'the same'


def pauses(state, code):
    requests = state['requests']
    found = [b['time'] - a['time'] for a, b in zip(requests, requests[1:]) if str(a['code']) == code]
    return math.floor(min(found)) if found else 'none'


def ask(question, path, *words):
    state = load(path)
    if question == 'value':
        return total(state['metrics'][words[0]]) if words[0] in state['metrics'] else 'none'
    if question == 'labels':
        return '\n'.join(sorted({repr(point['labels'].get(words[1])) for point in state['metrics'][words[0]]['points']}))
    if question == 'spans':
        return len(state['spans'])
    if question == 'failed':
        return sum(span['failed'] for span in state['spans'])
    if question == 'answers':
        return sum(str(request['code']) == words[0] for request in state['requests'])
    if question == 'header':
        return state['headers'].get(words[0])
    return {'check': check, 'quantiles': quantiles, 'times': times, 'pauses': pauses}[question](state, *words)


if __name__ == '__main__':
    print(ask(*sys.argv[1:]))
