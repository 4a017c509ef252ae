#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a page would make of a live stream: puts the messages together and answers questions about them.

live_stream.py bars FILE CATEGORY     events in all bars
live_stream.py last FILE FIELD        of the last message
live_stream.py agrees FILE            whether High, Low and Count are those of the bars
live_stream.py story FILE             inferences and loads; first and last state; whether rows add up; whether in order
live_stream.py latency BASE TOKEN     listens by itself: how long rows take, until there were 100
live_stream.py open BASE TOKEN CATEGORY   likewise: whether an open event of the category grows
"""

import http.client
import json
import sys
import time

CATEGORIES = ['prepare-ep', 'specialization', 'load', 'setup', 'inference']


class Page:
    def __init__(self):
        self.messages = []
        self.clear()

    def clear(self):
        self.bars = {}
        self.rows = []
        self.missed = 0

    def take(self, message):
        self.messages.append(message)
        if message['full']:
            self.clear()
        for second, category, *numbers in message.get('buckets', []):
            self.bars[second, CATEGORIES[category]] = numbers
        self.rows += message.get('rows', [])
        self.missed += message.get('missed', 0)

    def count(self, category):
        return sum(numbers[0] for (_, name), numbers in self.bars.items() if name == category)


def read(path):
    page = Page()
    with sys.stdin if path == '-' else open(path) as lines:
        for line in lines:
            page.take(json.loads(line))
    return page


def agrees(page):
    for category in CATEGORIES:
        told = page.messages[-1]['categories'][category]
        bars = [numbers for (_, name), numbers in page.bars.items() if name == category]
        if told['count'] != told['count90'] or told['count90'] != sum(bar[0] for bar in bars):
            return f'{category}: count'
        if bars and (told['high'] != max(bar[2] for bar in bars) or told['low'] != min(bar[3] for bar in bars)):
            return f'{category}: high or low'
        if bars and not told['low'] <= told['median'] <= told['high']:
            return f'{category}: median'
    return 'yes'


def listen(base, token):
    """Messages as they come, and when."""
    host = base.split('//')[1].rstrip('/')
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request('GET', '/api/live/stream', headers={'Authorization': 'Bearer ' + token})
    answer = connection.getresponse()
    while line := answer.readline():
        yield json.loads(line), time.monotonic_ns()
    connection.close()


def latency(base, token):
    """From the end of an event to its row's arrival here."""
    latencies = []
    begin = None
    for message, now in listen(base, token):
        begin = message.get('info', {}).get('begin', begin)
        if not message['full']:
            latencies += [now - begin - row[1] - row[2] for row in message.get('rows', [])]
        if len(latencies) >= 100:
            break
    latencies.sort()
    print(f'{latencies[len(latencies) // 2] / 1e6:.0f} ms, {latencies[len(latencies) * 95 // 100] / 1e6:.0f} ms of {len(latencies)} rows')
    print('they come while it runs' if latencies[0] > 0 else latencies)


def grows(base, token, category):
    opened = []
    for message, _ in listen(base, token):
        opened += [event for event in message.get('open', []) if CATEGORIES[event['category']] == category and event['duration'] > 2e8]
        if len(opened) >= 2:
            break
    durations = [event['duration'] for event in opened]
    print('grows' if durations == sorted(durations) and durations[0] < durations[-1] else durations, opened[-1].get('async'))


def main():
    question, path, *rest = sys.argv[1:]
    if question == 'latency':
        latency(path, rest[0])
        return
    if question == 'open':
        grows(path, *rest)
        return
    page = read(path)
    last = page.messages[-1]
    if question == 'bars':
        print(page.count(rest[0]))
    elif question == 'last':
        print(last[rest[0]])
    elif question == 'story':
        print(page.count('inference'), page.count('load'))
        print(f"{page.messages[0]['state']}, {last['state']}, {last['why']}")
        totals = last['totals']
        print('yes' if totals['rows'] == len(page.rows) + page.missed and
              totals['events'] == totals['rows'] + totals['thinned'] else totals)
        numbers = [row[0] for row in page.rows]
        sequence = [message['seq'] for message in page.messages]
        print('yes' if numbers == sorted(set(numbers)) and sequence == list(range(len(sequence))) else 'no')
    elif question == 'agrees':
        print(agrees(page))


main()
