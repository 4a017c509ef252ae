# SPDX-License-Identifier: Apache-2.0
"""What a user of the Python package would write: record this process while a model runs, and read the recording."""
import sys

import inferogram
import numpy
import onnxruntime

with inferogram.record('python.ifg'):
    session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
    state = numpy.zeros((2, 1, 128), numpy.float32)
    for _ in range(20):
        with inferogram.zone('chunk'):
            _, state = session.run(None, {'input': numpy.zeros((1, 512), numpy.float32), 'state': state,
                                          'sr': numpy.array(16000, numpy.int64)})
trace = inferogram.open('python.ifg')
counts = trace.query("""SELECT (SELECT count(*) FROM slice WHERE name = 'chunk'),
    (SELECT count(*) FROM ml_event WHERE category = 'inference')""").rows()
print('Python %d.%d: %s; %d zones, %d inferences; models: %s' % (*sys.version_info[:2], inferogram.program(), *list(counts)[0],
                                                                 ', '.join(model['name'] for model in trace.models)))
