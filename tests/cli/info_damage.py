# SPDX-License-Identifier: Apache-2.0
"""Damages a trace in many ways and asks `info` about each.

usage: info_damage.py INFEROGRAM TRACE DIRECTORY

Prints one line `bad ...` for each way that ended in anything but 0 or 2, took long, said nothing or
printed JSON that is none; then `done COUNT READ REFUSED`.
"""

import json
import random
import subprocess
import sys

TOOL, TRACE, DIRECTORY = sys.argv[1:4]
PATH = f'{DIRECTORY}/damaged.ifg'
with open(TRACE, 'rb') as source:
    GOOD = source.read()

random.seed(4711)
count = read = refused = 0


def ask(what, data):
    global count, read, refused
    count += 1
    with open(PATH, 'wb') as file:
        file.write(data)
    as_json = count % 2 == 0
    try:
        done = subprocess.run([TOOL, 'info', PATH] + (['--json'] if as_json else []),
                              capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        print('bad', what, 'takes too long')
        return
    if done.returncode == 0:
        read += 1
        if as_json:
            try:
                json.loads(done.stdout)
            except ValueError as error:
                print('bad', what, 'no JSON:', error)
        elif b'\x1b' in done.stdout:
            print('bad', what, 'an escape sequence')
    elif done.returncode == 2:
        refused += 1
        if PATH.encode() not in done.stderr or done.stderr.count(b'\n') != 1:
            print('bad', what, 'says', done.stderr)
    else:
        print('bad', what, 'ends with', done.returncode, done.stderr[-300:])


size = len(GOOD)
for cut in sorted({*range(0, 80, 4), *(size * i // 60 for i in range(60)), *range(size - 40, size, 3)}):
    ask(f'cut at {cut}', GOOD[:cut])
for flip in [*range(0, 64, 3), *(random.randrange(size) for _ in range(100)),
             *range(size - 60, size, 4)]:
    changed = bytearray(GOOD)
    changed[flip] ^= 1 << random.randrange(8)
    ask(f'flip at {flip}', bytes(changed))
for _ in range(20):
    begin = random.randrange(size)
    end = min(size, begin + random.randrange(1, 400))
    ask(f'hole {begin}..{end}', GOOD[:begin] + bytes(end - begin) + GOOD[end:])
    ask(f'missing {begin}..{end}', GOOD[:begin] + GOOD[end:])
    ask(f'noise {begin}..{end}', GOOD[:begin] + random.randbytes(end - begin) + GOOD[end:])
ask('twice', GOOD + GOOD)
ask('trailing noise', GOOD + random.randbytes(1000))
print('done', count, read, refused)
