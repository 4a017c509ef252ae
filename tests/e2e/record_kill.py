# SPDX-License-Identifier: Apache-2.0
"""Kills programs and recorders with SIGKILL at random moments and looks at what is left.

usage: record_kill.py program|recorder KILLS INFEROGRAM TICKER DIRECTORY

One line for each kill: `loss MILLISECONDS` or `bad WHAT`; the last one is `worst MILLISECONDS`.
The loss is what the program had emitted before the kill (it notes the time of its latest zone in
shared memory) and the trace does not have. A recorder that has no CPU can write nothing: where a thread
that does nothing but sleep woke up late before the kill, that lateness is taken off, and told as `late`.
"""

import collections
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

WHO, KILLS, TOOL, TICKER, DIRECTORY = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
TOGETHER = 2
MOMENTS_S = (0.02, 0.5)

lock = threading.Lock()
left = KILLS
losses = []
NAP_S = 0.005
LOOK_BACK_S = 1.0
naps = collections.deque(maxlen=int(4 * LOOK_BACK_S / NAP_S))  # (when, how much too late), of the last moments
is_over = threading.Event()


def witness():
    """Notes how late it wakes up."""
    while not is_over.is_set():
        before = time.monotonic()
        time.sleep(NAP_S)
        naps.append((time.monotonic(), time.monotonic() - before - NAP_S))


def late_ms():
    """For how long those who wanted a CPU may not have had one before now."""
    now = time.monotonic()
    last = naps[-1][0] if naps else now
    lateness = max(0, now - last - NAP_S) + sum(late for when, late in list(naps) if when > now - LOOK_BACK_S and late > 0.01)
    return 1e3 * lateness


def say(*words):
    with lock:
        print(*words, flush=True)


def latest(path):
    try:
        with open(path, 'rb') as file:
            return struct.unpack('<Q', file.read(8))[0]
    except (OSError, struct.error):
        return 0


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def info(trace):
    done = subprocess.run([TOOL, 'info', '--json', trace], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f'info ends with {done.returncode}: {done.stderr.decode()}')
    return json.loads(done.stdout)


def lost_ms(trace, first, emitted, from_start=True):
    """What is missing at the end. A zone that was recorded from its begin must be shown as open."""
    found = info(trace)
    end = found['end_ns'] or first
    loss = max(0, emitted - end) / 1e6
    if from_start and emitted - first > 250e6:
        names = [zone['name'] for zone in found['unfinished']]
        if names[:1] != ['outer']:
            raise RuntimeError(f'unfinished: {names}')
    return loss, found


def begin(number, attach):
    trace = f'{DIRECTORY}/{WHO}-{number}.ifg'
    mark = f'{DIRECTORY}/{WHO}-{number}.mark'
    command = [TICKER, '-s', '60', '-m', mark]
    quiet = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    if not attach:
        recorder = subprocess.Popen([TOOL, 'record', '-q', '-o', trace, '--', *command], **quiet)
        program = None
    else:
        program = subprocess.Popen(command, **quiet)
        if not wait_until(lambda: latest(mark)):
            raise RuntimeError('the program does not start')
        recorder = subprocess.Popen([TOOL, 'record', '-q', '-o', trace, '--pid', str(program.pid)],
                                    **quiet)
    return trace, mark, recorder, program


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(child) for child in file.read().split()]


def kill_program(number):
    trace, mark, recorder, _ = begin(number, False)
    try:
        if not wait_until(lambda: latest(mark)):
            raise RuntimeError('the program does not start')
        first = latest(mark)
        time.sleep(random.uniform(*MOMENTS_S))
        os.kill(children_of(recorder.pid)[0], signal.SIGKILL)
        status = recorder.wait(60)
    finally:
        recorder.kill()
        recorder.wait()
    loss, found = lost_ms(trace, first, latest(mark))
    if status != 128 + signal.SIGKILL:
        raise RuntimeError(f'record ends with {status}')
    if not found['file']['finished'] or found['processes'][0]['end'] != 'killed by signal 9':
        raise RuntimeError('the end is not told')
    return loss


def record_again(pid, number):
    """The program is alive and nobody has it: another recording works, as long as the program needs for a zone."""
    trace = f'{DIRECTORY}/{WHO}-{number}-again.ifg'
    for duration in ('50ms', '500ms', '5s'):
        done = subprocess.run([TOOL, 'record', '-q', '-f', '-o', trace, '--duration', duration, '--pid',
                               str(pid)], capture_output=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f'recording again ends with {done.returncode}: {done.stderr.decode()}')
        if info(trace)['events']['zones']:
            return
    raise RuntimeError('recording again finds nothing')


def kill_recorder(number):
    attach = number % 2 == 1
    trace, mark, recorder, program = begin(number, attach)
    pid = program.pid if program else 0
    try:
        if not wait_until(lambda: os.path.exists(trace) and latest(mark)):
            raise RuntimeError('the recording does not start')
        first = latest(mark)
        if not program:
            wait_until(lambda: children_of(recorder.pid))
            pid = children_of(recorder.pid)[0]
        time.sleep(random.uniform(*MOMENTS_S))
        emitted = latest(mark)
        late = late_ms()
        recorder.kill()
        recorder.wait()
        if not wait_until(lambda: latest(mark) > emitted):
            raise RuntimeError('the program does not go on')
        loss, found = lost_ms(trace, first, emitted, from_start=not attach)
        if found['file']['finished']:
            raise RuntimeError('the file claims to be finished')
        if number % 5 == 0 or attach:
            record_again(pid, number)
    finally:
        recorder.kill()
        recorder.wait()
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if program:
            program.wait()
    say('killed', recorder.pid)
    if loss > 100 and late > 0:
        say('late', f'{late:.1f} of {loss:.1f}')
        loss = max(0, loss - late)
    return loss


def work():
    global left
    while True:
        with lock:
            if left == 0:
                return
            left -= 1
            number = left
        try:
            loss = kill_program(number) if WHO == 'program' else kill_recorder(number)
            losses.append(loss)
            say('loss', f'{loss:.1f}')
        except Exception as problem:  # pylint: disable=broad-except
            say('bad', f'kill {number}:', str(problem).replace('\n', ' '))


threading.Thread(target=witness, daemon=True).start()
workers = [threading.Thread(target=work) for _ in range(TOGETHER)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
is_over.set()
say('worst', f'{max(losses, default=0):.1f}')
