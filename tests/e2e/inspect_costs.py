# SPDX-License-Identifier: Apache-2.0
"""Compares `inspect --json` with what ONNX Runtime saw: inspect_costs.py INFEROGRAM MODEL NAME=SIZE,... INPUT:AxBxC,...

ONNX Runtime runs the model as it is, and its profile has the shapes of every node; operations follow from those by
formulas that are written here once more. Prints "N compared, M differ, W weights".
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime


def profile(model, shapes):
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = os.path.join(folder, 'profile')
        session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
        session.run(None, {name: numpy.zeros(shape, numpy.float32) for name, shape in shapes.items()})
        with open(session.end_profiling(), encoding='utf-8') as file:
            return [event for event in json.load(file) if event['name'].endswith('_kernel_time')]


def operations(op, inputs, outputs):
    """None: no formula, or ONNX Runtime has packed the weights and does not show them."""
    count = math.prod(outputs[0])
    if op in ('Add', 'Sub', 'Mul', 'Div', 'Pow', 'Relu', 'Sqrt'):
        return count
    if op == 'GlobalAveragePool':
        return math.prod(inputs[0])
    if op == 'MatMul' and len(inputs) == 2:
        return 2 * count * inputs[0][-1]
    if op == 'Conv' and len(inputs) > 1 and len(inputs[1]) == len(inputs[0]):
        return 2 * count * math.prod(inputs[1][1:]) + (count if len(inputs) > 2 else 0)
    return None


def main():
    tool, model, dims, inputs = sys.argv[1:]
    shapes = {name: [int(size) for size in shape.split('x')] for name, shape in
              (text.split(':') for text in inputs.split(','))}
    given = [word for dim in dims.split(',') for word in ('--dim', dim)]
    found = json.loads(subprocess.run([tool, 'inspect', '--json', model] + given, check=True, stdout=subprocess.PIPE).stdout)
    flops = {node['name']: node['flops'] for node in found['nodes']}
    compared = differ = 0
    for event in profile(model, shapes):
        name, details = event['name'][:-len('_kernel_time')], event['args']
        of = [[next(iter(value.values())) for value in details[key]] for key in ('input_type_shape', 'output_type_shape')]
        expected = operations(details['op_name'], *of)
        if expected is None or (flops.get(name) == 0 and expected < 5000):  # small constants are not counted
            continue
        compared += 1
        if flops.get(name) != expected:
            differ += 1
            print(f"{details['op_name']} {name}: {flops.get(name)}, expected {expected}", file=sys.stderr)
    print(f"{compared} compared, {differ} differ, {sum(node['weight'] for node in found['nodes']):.6f} weights")


if __name__ == '__main__':
    main()
