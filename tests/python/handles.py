# SPDX-License-Identifier: Apache-2.0
"""Profiling handles: counts of inferences are known, so reports are, too."""
import gc
import threading

import inferogram


def refuses(kind, part, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except kind as error:
        assert part in str(error), str(error)
        return
    raise AssertionError('%r was not refused' % (args,))


def infer(model, count):
    for _ in range(count):
        with inferogram.event(model, 'inference'):
            pass


model = inferogram.Model('ocr det')
other = inferogram.Model('speech')

# A profile reports once, after as many inferences as were asked for, on another thread.
got = []
arrived = threading.Event()


def take(report):
    got.append((report, threading.get_ident()))
    arrived.set()


profile = inferogram.profile(model, 10, take)
profile.start()
refuses(inferogram.Error, 'started', profile.start)
infer(model, 25)
assert arrived.wait(60)
profile.stop()
assert len(got) == 1 and got[0][0].samples == 10 and got[0][0].requested == 10, got
assert got[0][1] != threading.get_ident()
assert 'ocr det' in got[0][0].text and 'N/A' in got[0][0].text and got[0][0].missing

# Stopped early, it reports what there is; by name; in the other format; without a callback.
with inferogram.profile('ocr det', 1000, type='trace') as early:
    infer(model, 7)
assert [report.samples for report in early.reports] == [7] and '"ph"' in early.reports[0].text

# A stream: patterns, models that are added and removed, flushes.
with inferogram.stream(every=3600, regex='^ocr', name='mine') as stream:
    infer(model, 5)
    infer(other, 4)
    stream.flush()
    stream.add(other)
    infer(other, 3)
    stream.flush()
    stream.remove('speech')
    infer(other, 2)
    stream.flush()
assert [report.samples for report in stream.reports] == [5, 3, 0], stream.reports
half = inferogram.stream(models=(model,), sampling='half', every=3600)
half.start()
infer(model, 10)
half.stop()
assert [(report.samples, report.requested) for report in half.reports] == [(5, 10)]

refuses(ValueError, 'sampling', inferogram.stream, sampling='most')
refuses(ValueError, 'type', inferogram.profile, model, 1, type='poem')
refuses(inferogram.Error, 'no model', inferogram.profile, 'not loaded', 1)
refuses(inferogram.Error, '', inferogram.stream, regex='(')
refuses(inferogram.Error, '', inferogram.profile, model, 0)

# One that is forgotten while it runs is ended; the callback of another is not lost.
kept = inferogram.stream(every=3600, glob='*')
kept.start()
inferogram.stream(every=0.05, glob='*').start()
gc.collect()
infer(model, 3)
kept.stop()
assert [report.samples for report in kept.reports] == [3]
left_running = inferogram.stream(every=0.05, glob='*')
left_running.start()
print('done')
