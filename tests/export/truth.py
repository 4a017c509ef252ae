# SPDX-License-Identifier: Apache-2.0
"""What export_traces says it has written, and the verdict of a check."""

import json
import sys


def text(hexadecimal):
    return bytes.fromhex(hexadecimal).decode('utf-8', 'replace')


class Truth:
    def __init__(self, path):
        self.pids, self.threads = {}, {}
        self.slices, self.spans, self.values, self.marks = [], [], [], []
        for line in open(path):
            item = json.loads(line)
            if 'name' in item:
                item['name'] = text(item['name'])
            for key, where in (('slice', self.slices), ('span', self.spans),
                               ('value', self.values), ('mark', self.marks)):
                if key in item:
                    where.append(item)
            if 'pid' in item:
                self.pids[item['process']] = item['pid']
            if 'thread' in item:
                self.threads[item['thread']] = item
        for item in self.slices:
            thread = self.threads[item['on']]
            item['tid'] = thread['tid']
            item['pid'] = self.pids[thread['process']]
        times = [x['start'] for x in self.slices + self.spans] + [x['at'] for x in self.values]
        self.begin = min(times + [x['mark'] for x in self.marks]) if times else 0


def equal(what, got, expected):
    if got == expected:
        return
    print(f'{what}:')
    if isinstance(got, list):
        print('  only in the export:', [x for x in got if x not in expected][:5])
        print('  missing:', [x for x in expected if x not in got][:5])
        print('  counts:', len(got), len(expected))
    else:
        print('  got     ', got)
        print('  expected', expected)
    sys.exit(1)


def require(condition, message):
    if not condition:
        print(message)
        sys.exit(1)
