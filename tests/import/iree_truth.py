# SPDX-License-Identifier: Apache-2.0
"""What is in an ireeperf-jsonl file, read without the product: iree_truth.py FILE. A row for each span of the host:

LANE,NAME,START,DURATION in order of their starts, which count from the earliest moment of the file.
"""
import json
import sys

LANES = {'host_execution_event': '', 'queue_event': ' submissions'}

spans = []
with open(sys.argv[1], encoding='utf-8') as file:
    for record in map(json.loads, file):
        if record['record_type'] not in LANES:
            continue
        lane = 'device %(physical_device_ordinal)d queue %(queue_ordinal)d' % record + LANES[record['record_type']]
        if record['record_type'] == 'queue_event':
            begin, end, name = record['host_time_ns'], record['ready_host_time_ns'], record['op'] + ' until ready'
        else:
            begin, end, name = record['start_host_time_ns'], record['end_host_time_ns'], record['key'] or record['op']
        spans.append((begin, max(end, begin), lane, name))
first = min(begin for begin, _, _, _ in spans)
for begin, end, lane, name in sorted(spans, key=lambda span: (span[0], span[2], span[3])):
    print(f'{lane},{name},{begin - first},{end - begin}')
