# SPDX-License-Identifier: Apache-2.0
"""What the tests of metrics ask about a scrape.

  sum FILE NAME          the samples of this name, added up
  labels FILE LABEL      the values of a label, as Python writes them, each once
  names FILE             the names of all samples
  check FILE             "well-formed", or what breaks the rules of OpenMetrics
  quantiles FILE STATS   "within" if each percentile of `stats --json` lies in the bucket where the histogram has it
  crowd URL              many that say nothing, or read nothing, and one that scrapes: "answered N"
  value URL QUERY        what a Prometheus at this address answers
"""

import json
import math
import re
import socket
import sys
import urllib.parse
import urllib.request

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
ESCAPED = {'\\\\': '\\', '\\"': '"', '\\n': '\n'}


def labels_of(text):
    found, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        if not match:
            raise ValueError(f'labels: {text!r}')
        found[match[1]] = re.sub(r'\\.', lambda escape: ESCAPED[escape[0]], match[2])
        at = match.end()
    return found


def samples(path):
    with open(path, encoding='utf-8', newline='\n') as file:
        for line in file.read().split('\n'):
            if line and not line.startswith('#'):
                match = SAMPLE.match(line)
                if not match:
                    raise ValueError(f'sample: {line!r}')
                yield match[1], labels_of(match[2]), float(match[3])


def histograms(path):
    """By their labels: cumulative counts by bound, and count."""
    found = {}
    for name, labels, value in samples(path):
        if name.startswith('inferogram_event_duration_seconds_'):
            bound = labels.pop('le', None)
            entry = found.setdefault(tuple(sorted(labels.items())), {'buckets': [], 'count': None})
            if bound:
                entry['buckets'].append((float(bound), value))
            elif name.endswith('_count'):
                entry['count'] = value
    return found


def check(path):
    with open(path, encoding='utf-8', newline='\n') as file:
        text = file.read()
    if not text.endswith('\n# EOF\n') or text.count('\n# EOF\n') != 1:
        return 'the end'
    family, seen = None, set()
    for line in text.split('\n')[:-2]:
        if line.startswith('#'):
            _, what, name = line.split(' ')[:3]
            if name != family:
                if name in seen or what != 'HELP':
                    return f'begin of {name}'
                family = name
                seen.add(name)
            if what == 'UNIT' and not name.endswith('_' + line.split(' ')[3]):
                return f'unit of {name}'
        elif not line.startswith(family):
            return f'{line} in {family}'
    if len(set((name, tuple(sorted(labels.items()))) for name, labels, _ in samples(path))) != len(list(samples(path))):
        return 'a sample twice'
    for labels, entry in histograms(path).items():
        counts = [count for _, count in entry['buckets']]
        if counts != sorted(counts) or not math.isinf(entry['buckets'][-1][0]) or counts[-1] != entry['count']:
            return f'histogram of {labels}'
    return 'well-formed'


def quantiles(path, stats):
    with open(stats, encoding='utf-8') as file:
        rows = {row['name']: row for row in json.load(file)['rows']}
    compared = 0
    for labels, entry in histograms(path).items():
        row = rows[dict(labels)['model']]
        if row['count'] != entry['count']:
            return f"count: {row['count']}, {entry['count']}"
        for share, key in ((0.5, 'p50_ns'), (0.9, 'p90_ns'), (0.99, 'p99_ns')):
            # Interpolated between two values: each of the two is in a bucket.
            rank = (row['count'] - 1) * share
            last = 0
            low, high = None, None
            for bound, count in entry['buckets']:
                if low is None and count > math.floor(rank):
                    low = last
                if high is None and count > math.ceil(rank):
                    high = bound
                last = bound
            if not low * 1e9 <= row[key] <= high * 1e9 + 1:
                return f'{key} of {labels}: {row[key]} is not within {low} and {high} s'
            compared += 1
    return 'within' if compared else 'nothing compared'


def crowd(url):
    where = urllib.parse.urlparse(url)
    held = []
    for number in range(100):
        client = socket.create_connection((where.hostname, where.port))
        held.append(client)
        if number % 2:
            client.sendall(b'GET /metrics HTTP/1.1\r\nHost: ')
        elif number % 10 == 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(f'GET /metrics HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n'.encode())
    answered = 0
    for _ in range(3):
        with urllib.request.urlopen(url, timeout=60) as answer:
            answered += b'inferogram_build_info' in answer.read()
    return f'answered {answered}'


def value(url, query):
    with urllib.request.urlopen(f'{url}/api/v1/query?' + urllib.parse.urlencode({'query': query}), timeout=60) as answer:
        result = json.load(answer)['data']['result']
    return result[0]['value'][1] if result else 'none'


def main(question, *rest):
    if question == 'sum':
        print(f'{sum(number for name, _, number in samples(rest[0]) if name == rest[1]):.15g}')
    elif question == 'labels':
        print('\n'.join(sorted({repr(labels[rest[1]]) for _, labels, _ in samples(rest[0]) if rest[1] in labels})))
    elif question == 'names':
        print('\n'.join(sorted({name for name, _, _ in samples(rest[0])})))
    else:
        print({'check': check, 'quantiles': quantiles, 'crowd': crowd, 'value': value}[question](*rest))


main(*sys.argv[1:])
