# SPDX-License-Identifier: Apache-2.0
"""Voice activity detection until SIGTERM, with an account of every run: steady.py MODEL LOG [FAILING...]

Says "ready PID" when the model is loaded. Every fiftieth run has an input of a wrong shape and fails. On SIGHUP the
FAILING models are loaded, and run if that is possible, and then MODEL again, which runs from then on; after a hundred
of these runs it says "again". At the end each line of LOG is "PID 0 START END": CLOCK_MONOTONIC ns; and what was raised is printed, each text once."""
import os
import signal
import sys
import time

import numpy
import onnxruntime

signals = set()
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda received, _: signals.add(received))
times, raised = [], {}


def load(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])


def run(session, feeds):
    start = time.monotonic_ns()
    try:
        session.run(None, feeds)
    except Exception as error:
        raised[f'{type(error).__name__}: {error}'] = True
    times.append((start, time.monotonic_ns()))


def fail(models):
    for model in models:
        try:
            run(load(model), {'x': numpy.ones([1, 4], numpy.float32)})
        except Exception as error:
            raised[f'{type(error).__name__}: {error}'] = True


def main(model, log, *failing):
    session = load(model)
    good = {'input': numpy.zeros([1, 512], numpy.float32), 'state': numpy.zeros([2, 1, 128], numpy.float32),
            'sr': numpy.array(16000, numpy.int64)}
    bad = dict(good, input=numpy.zeros([1, 512, 3], numpy.float32))
    said_at = -1
    print('ready', os.getpid(), flush=True)
    while signal.SIGTERM not in signals:
        run(session, bad if len(times) % 50 == 49 else good)
        if signal.SIGHUP in signals:
            signals.discard(signal.SIGHUP)
            fail(failing)
            session = load(model)
            said_at = len(times) + 100
        if len(times) == said_at:
            print('again', flush=True)
    with open(log, 'w', encoding='utf-8') as file:
        for start, end in times:
            file.write(f'{os.getpid()} 0 {start} {end}\n')
    print('\n'.join(raised))


main(*sys.argv[1:])
