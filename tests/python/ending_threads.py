# SPDX-License-Identifier: Apache-2.0
"""Threads that end while their recording does: every zone is in the trace, and none in the next one. ending_threads.py FOLDER"""
import os
import sys
import threading
import time

import inferogram

ROUNDS, THREADS, ZONES = 12, 8, 10
path = os.path.join(sys.argv[1], 'ending.ifg')


def work(written):
    for _ in range(ZONES):
        with inferogram.zone('thread'):
            pass
    written.release()
    while inferogram.is_recording():
        time.sleep(0)


for _ in range(ROUNDS):
    written = threading.Semaphore(0)
    with inferogram.record(path, force=True, sample=False, resources=False) as recording:
        threads = [threading.Thread(target=work, args=(written,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            written.acquire()
    for thread in threads:
        thread.join()
    counted = recording.trace.query("SELECT count(*) FROM slice WHERE name = 'thread'").rows()
    assert counted == [(THREADS * ZONES,)], counted
print('done')
