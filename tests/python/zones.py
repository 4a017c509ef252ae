# SPDX-License-Identifier: Apache-2.0
"""Marks of every kind, a known number of each. python_package.sh records it and counts."""
import asyncio
import sys
import threading

import inferogram

assert inferogram.is_recording() is (sys.argv[1] == 'recorded')


def refuses(kind, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except kind:
        return
    raise AssertionError('%r was not refused' % (args,))


@inferogram.zone('decorated')
def decorated(depth):
    """Says what it does."""
    return decorated(depth - 1) + 1 if depth else 0


@inferogram.zone('awaited')
async def awaited(value):
    await asyncio.sleep(0)
    return value


async def tasks():
    async with inferogram.zone('span') as span:
        assert repr(span) == "inferogram.zone('span')"
        assert await asyncio.gather(*(awaited(i) for i in range(3))) == [0, 1, 2]
    async with inferogram.event('asynchronous', 'inference'):
        await asyncio.sleep(0)


for i in range(10):
    with inferogram.zone('outer', text='text %d' % i, value=i, color=0x336699):
        with inferogram.zone('inner') as inner:
            inner.set(fill=0.5, attempt=i, mode='direct', flag=True, huge=1 << 80)
assert decorated(4) == 4 and decorated.__doc__ == 'Says what it does.' and decorated.__name__ == 'decorated'
try:
    with inferogram.zone('failing'):
        raise KeyError('passes')
except KeyError:
    pass
asyncio.run(tasks())

model = inferogram.Model('ocr', path='/models/ocr.onnx', runtime='my runtime', devices='GPU,CPU')
model.set_property('actual_devices', 'CPU')
with inferogram.event(model, 'load', state='cached'):
    pass
for _ in range(5):
    with inferogram.event(model, 'inference', function='decode', batch=4):
        pass
with inferogram.event('by name', 'setup'):
    pass

inferogram.counter('queue', 3)
inferogram.counter('queue', 4.5)
inferogram.message('information')
inferogram.message('w\u00e4rnung', level='warning')
inferogram.frame('video')
inferogram.thread_name('the first one')
flow = inferogram.flow('frame')
with inferogram.zone('sender'):
    flow.begin()


def receive():
    with inferogram.zone('receiver'):
        flow.step().end()


thread = threading.Thread(target=receive)
thread.start()
thread.join()

# One object in several threads and, in each, within itself.
shared = inferogram.zone('shared')


def enter(depth):
    with shared:
        if depth:
            enter(depth - 1)


threads = [threading.Thread(target=lambda: [enter(3) for _ in range(50)]) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

refuses(TypeError, inferogram.zone)
refuses(TypeError, inferogram.zone, 3)
refuses(TypeError, inferogram.zone, 'a', 'b')
refuses(TypeError, inferogram.Zone)
refuses(TypeError, inferogram.event, 3, 'load')
refuses(ValueError, inferogram.event, 'm', 'thinking')
refuses(ValueError, inferogram.event, 'm', 'load', state='warm')
refuses(ValueError, inferogram.message, 'm', level='loud')
refuses(TypeError, inferogram.counter, 'queue')
refuses(TypeError, inferogram.Model)
refuses(TypeError, inferogram.zone('generator'), lambda: (yield))
refuses(TypeError, inferogram.zone('class'), dict)
if inferogram.is_recording():
    refuses(TypeError, inferogram.counter, 'queue', 'much')
print('done')
