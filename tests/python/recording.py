# SPDX-License-Identifier: Apache-2.0
"""Records itself, again and again. recording.py FOLDER"""
import os
import signal
import sys
import threading

import inferogram

FOLDER = sys.argv[1]


def refuses(part, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except inferogram.Error as error:
        assert part in str(error), str(error)
        return error
    raise AssertionError('%r was not refused' % (args,))


def zones(trace):
    return trace.query("SELECT name, count(*) FROM slice WHERE kind = 'zone' GROUP BY name ORDER BY name").rows()


path = os.path.join(FOLDER, 'run.ifg')
with inferogram.zone('before'):
    pass
with inferogram.record(path, sample=False) as recording:
    assert inferogram.is_recording() and 'running' in repr(recording)
    with inferogram.zone('inside'):
        thread = threading.Thread(target=lambda: [inferogram.zone('thread').__enter__().__exit__() for _ in range(10)])
        thread.start()
        thread.join()
    refuses('has not ended', lambda: recording.trace)
    refuses('has begun', recording.start)
assert not inferogram.is_recording()
with inferogram.zone('after'):
    pass
assert zones(recording.trace) == [('inside', 1), ('thread', 10)], zones(recording.trace)
assert any('recorded' in line for line in recording.messages), recording.messages
assert recording.trace.info()['processes'][0]['pid'] == os.getpid()

# An existing file is kept, and the recorder's words are the message.
assert refuses('exists', inferogram.record(path).start).status in (1, 2)
assert zones(recording.trace) == [('inside', 1), ('thread', 10)]
refuses('--colour-of-the-sky', inferogram.record(os.path.join(FOLDER, 'x.ifg'), colour_of_the_sky='blue').start)
refuses('', inferogram.record(os.path.join(FOLDER, 'no', 'such', 'folder', 'x.ifg')).start)

# What fails inside passes, and what was recorded stays.
try:
    with inferogram.record(path, force=True, sample=False, resources=False) as recording:
        with inferogram.zone('failing'):
            raise KeyError('passes')
except KeyError:
    pass
assert zones(recording.trace) == [('failing', 1)]

# One zone, open from before the recording, several times within it, and a dozen others open at once.
shared = inferogram.zone('shared')
others = [inferogram.zone('other') for _ in range(12)]
with shared:
    with inferogram.record(path, force=True, sample=False) as recording:
        with shared:
            with shared:
                pass
            for each in others:
                each.__enter__()
            for each in others[::-1]:
                each.__exit__()
assert zones(recording.trace) == [('other', 12), ('shared', 2)], zones(recording.trace)
assert recording.trace.query("SELECT max(depth) FROM slice WHERE kind = 'zone'").rows() == [(12,)]
# Open when the recording ends: what is not recorded within it ends by itself.
recording = inferogram.record(path, force=True, sample=False).start()
shared.__enter__()
recording.stop()
with shared:
    pass
shared.__exit__()
with inferogram.record(path, force=True, sample=False) as recording:
    with shared:
        pass
assert zones(recording.trace) == [('shared', 1)], zones(recording.trace)
del others, each

# Two recorders of one process: the second is refused.
first = inferogram.record(path, force=True, sample=False).start()
refuses('record', inferogram.record(os.path.join(FOLDER, 'second.ifg'), sample=False).start)
with inferogram.zone('still recorded'):
    pass
assert zones(first.stop()) == [('still recorded', 1)] and first.stop() is None

# A recorder that is killed is noticed at the end; what it had written can be read.
lost = inferogram.record(path, force=True, sample=False).start()
with inferogram.zone('soon gone'):
    os.kill(lost._child.pid, signal.SIGKILL)
    lost._child.wait()
assert refuses('ended by signal 9', lost.stop).status == -9
assert isinstance(lost.trace.info(), dict)
print('done')
