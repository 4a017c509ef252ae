# SPDX-License-Identifier: Apache-2.0
"""Kills one of those who take part in a capture with SIGKILL at random moments, and looks at what is left.

usage: capture_kill.py program|capture|agent|recorder KILLS INFEROGRAM TICKER DIRECTORY

One line for each kill: `good` or `bad WHAT`. Good is: the file can be read and has zones, the program goes on
(unless it was killed), everybody else has ended or goes on as he should, and the program can be recorded again.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

WHO, KILLS, TOOL, TICKER, DIRECTORY = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
MOMENTS_S = (0.0, 0.4)
QUIET = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f'waited in vain: {what}')
        time.sleep(0.005)


def size_of(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def children_of(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def info(trace):
    done = subprocess.run([TOOL, 'info', '--json', trace], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f'info ends with {done.returncode}: {done.stderr.decode()}')
    return json.loads(done.stdout)


def has_zones(trace):
    """Whether a trace that grows has any; there is no file before the first of it has come."""
    try:
        return size_of(trace) > 3000 and info(trace)['events']['zones'] > 0
    except RuntimeError:
        return False


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def start_agent():
    for _ in range(5):  # somebody else may have taken the port meanwhile
        port = free_port()
        agent = subprocess.Popen([TOOL, 'agent', '-q', '--listen', f'127.0.0.1:{port}'], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if str(port) in agent.stdout.readline().decode():
            return agent, port
        agent.wait()
    raise RuntimeError('the agent does not start')


def check_status(status):
    # What was killed cannot finish the trace: then the capture has lost its connection.
    expected = {'program': [0], 'capture': [-signal.SIGKILL], 'agent': [0, 7], 'recorder': [7]}[WHO]
    if status not in expected:
        raise RuntimeError(f'the capture ends with {status}')


def kill_one(number):
    trace = f'{DIRECTORY}/{WHO}-{number}.ifg'
    agent, port = start_agent()
    program = subprocess.Popen([TICKER, '-p', '-s', '120'], **{**QUIET, 'stdout': subprocess.PIPE})
    ask = [TOOL, 'capture', '-q', '-a', '127.0.0.1', '-p', str(port), '--reconnect', '0', '--pid', str(program.pid)]
    running = [agent, program]
    try:
        if not program.stdout.readline().startswith(b'ready'):
            raise RuntimeError('the program does not start')
        with open(f'{DIRECTORY}/said', 'wb') as said:
            capture = subprocess.Popen([*ask, '-o', trace], **{**QUIET, 'stderr': said})
        running.append(capture)
        wait_until('the trace grows', lambda: has_zones(trace) or capture.poll() is not None)
        if capture.poll() is not None:
            raise RuntimeError(f'the capture ends with {capture.returncode}: {open(f"{DIRECTORY}/said").read()}')
        recorders = children_of(agent.pid)
        time.sleep(random.uniform(*MOMENTS_S))
        os.kill({'program': program.pid, 'capture': capture.pid, 'agent': agent.pid, 'recorder': recorders[0]}[WHO],
                signal.SIGKILL)
        check_status(capture.wait(60))
        wait_until('the recorder ends', lambda: not any(is_alive(pid) for pid in recorders))
        if not info(trace)['events']['zones']:
            raise RuntimeError('the trace has no zones')
        if WHO == 'program':
            return
        if program.poll() is not None:
            raise RuntimeError('the program has ended')
        if WHO == 'agent':
            running[0], port = start_agent()
            ask[ask.index('-p') + 1] = str(port)
        for seconds in ('0.3', '3', '10'):  # as long as the program needs for a zone
            again = subprocess.run([*ask, '-s', seconds, '-f', '-o', trace], capture_output=True, timeout=60)
            if again.returncode != 0:
                raise RuntimeError(f'capturing again ends with {again.returncode}: {again.stderr.decode()}')
            if info(trace)['events']['zones']:
                return
        raise RuntimeError('capturing again finds nothing')
    finally:
        for process in running:
            process.kill()
            process.wait()


for kill in range(KILLS):
    try:
        kill_one(kill)
        print('good', flush=True)
    except (OSError, RuntimeError, subprocess.SubprocessError, KeyError, ValueError) as error:
        print('bad', error, flush=True)
