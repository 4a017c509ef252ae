# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny ONNX model by hand, runs it with profiling on, prints the name of the profile.

ort_profile.py PREFIX RUNS: the model is y = Relu(x + w); node names have quotes and backslashes.
"""
import struct
import sys

import onnxruntime


def varint(value):
    out = b''
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, value):
    """A protobuf field: an integer, or bytes, text or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, name, inputs, output):
    return b''.join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op)


def tensor_type(name):
    shape = field(1, field(1, 4))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model():
    weights = field(1, 4) + field(2, 1) + field(8, 'w') + field(9, struct.pack('<4f', -2, 0, 1, 3))
    graph = (field(1, node('Add', 'add "one"', ['x', 'w'], 'a')) + field(1, node('Relu', 'C:\\net\\relu', ['a'], 'y')) +
             field(2, 'tiny') + field(5, weights) + field(11, tensor_type('x')) + field(12, tensor_type('y')))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13))


options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = sys.argv[1]
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(model(), options, providers=['CPUExecutionProvider'])
for _ in range(int(sys.argv[2])):
    session.run(None, {'x': [1.0, 2.0, 3.0, 4.0]})
print(onnxruntime.__version__, session.end_profiling())
