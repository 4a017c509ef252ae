# SPDX-License-Identifier: Apache-2.0
"""Providers as programs ask for them: fallback.py MODEL available | caught

available: all that the wheel has, as its documentation shows it. caught: CUDA or nothing, and when that raises, the CPU."""
import sys

import numpy
import onnxruntime

model, how = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
if how == 'available':
    session = onnxruntime.InferenceSession(model, options, providers=onnxruntime.get_available_providers())
else:
    options.add_session_config_entry('session.disable_cpu_ep_fallback', '1')
    try:
        session = onnxruntime.InferenceSession(model, options, providers=['CUDAExecutionProvider'])
    except Exception as error:
        print('caught', type(error).__name__)
        session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
session.run(None, {'x': numpy.zeros((1, 4), 'float32')})
