# SPDX-License-Identifier: Apache-2.0
"""What a user would record: one model, 20 inferences."""
import sys

import numpy
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
state = numpy.zeros((2, 1, 128), numpy.float32)
for _ in range(20):
    _, state = session.run(None, {'input': numpy.zeros((1, 512), numpy.float32), 'state': state,
                                  'sr': numpy.array(16000, numpy.int64)})
print('20 inferences')
