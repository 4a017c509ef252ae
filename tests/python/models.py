# SPDX-License-Identifier: Apache-2.0
"""Records its own inferences: of a session from before, and of one that it creates meanwhile.

models.py MODEL OUT before|meanwhile: when onnxruntime is imported
"""
import sys

import numpy

import inferogram

MODEL, OUT, WHEN = sys.argv[1:]
FEED = {'x': numpy.zeros((1, 4), 'float32')}
old = None
if WHEN == 'before':
    import onnxruntime
    old = onnxruntime.InferenceSession(MODEL)
    old.run(None, FEED)
with inferogram.record(OUT, force=True, sample=False) as recording:
    import onnxruntime
    session = onnxruntime.InferenceSession(MODEL)
    for _ in range(20):
        session.run(None, FEED)
    for _ in range(3 if old else 0):
        old.run(None, FEED)
session.run(None, FEED)  # not recorded any more
print(recording.trace.query("SELECT category, model, count(*) FROM slice WHERE kind = 'ml' AND category IN ('load', 'inference') "
                            'GROUP BY 1, 2 ORDER BY 1').rows(), recording.trace.models[0]['name'])
