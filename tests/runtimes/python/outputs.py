# SPDX-License-Identifier: Apache-2.0
"""Python programs whose inputs are kept: outputs.py CASE MODEL [COUNT].

Runs print a line for each output: its name, and its bytes in hexadecimal. It knows nothing of being recorded.
"""
import os
import signal
import sys

import numpy
import onnxruntime


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])


def show(created, results):
    for output, result in zip(created.get_outputs(), results):
        print(output.name, numpy.ascontiguousarray(result).tobytes().hex())


def frame(number):
    return {'input': numpy.sin(numpy.arange(512, dtype=numpy.float32) * 0.1 * (number + 1)).reshape(1, 512),
            'state': numpy.full((2, 1, 128), number * 0.125, numpy.float32), 'sr': numpy.array(16000, numpy.int64)}


def case_arrays(model, count):
    """Arrays; every second one is a view that is not contiguous."""
    created = session(model)
    for number in range(count):
        feed = frame(number)
        if number % 2:
            feed['input'] = numpy.asfortranarray(numpy.repeat(feed['input'], 2, 1))[:, ::2]
        show(created, created.run(None, feed))


def case_values(model, count):
    created = session(model)
    for number in range(count):
        feed = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in frame(number).items()}
        show(created, [value.numpy() for value in created.run_with_ort_values(None, feed)])


def case_binding(model, count):
    """One input by its array, one as a value, one by its address."""
    created = session(model)
    binding = created.io_binding()
    for number in range(count):
        feed = frame(number)
        binding.clear_binding_inputs()
        binding.bind_cpu_input('input', feed['input'])
        binding.bind_ortvalue_input('state', onnxruntime.OrtValue.ortvalue_from_numpy(feed['state']))
        binding.bind_input('sr', 'cpu', 0, numpy.int64, [], feed['sr'].ctypes.data)
        for output in created.get_outputs():
            binding.bind_output(output.name)
        created.run_with_iobinding(binding)
        show(created, binding.copy_outputs_to_cpu())


def case_in_place(model, count):
    """The new state is written over the old one."""
    created = session(model)
    feed = frame(0)
    state = onnxruntime.OrtValue.ortvalue_from_numpy(feed['state'])
    for _ in range(count):
        binding = created.io_binding()
        binding.bind_cpu_input('input', feed['input'])
        binding.bind_cpu_input('sr', feed['sr'])
        binding.bind_ortvalue_input('state', state)
        binding.bind_output('output')
        binding.bind_ortvalue_output('stateN', state)
        created.run_with_iobinding(binding)


def case_slow(model, count):
    """The relu of ever larger arrays, and of small ones after them. Its input says which run it was."""
    created = session(model)
    for number in range(count):
        rows = 1 + 40000 * (number if number < count - 2 else 0)
        created.run(None, {'x': numpy.full((rows, 4), number, numpy.float32)})


def case_fail(model, count):
    created = session(model)
    for number in range(count):
        try:
            created.run(None, {'x': numpy.full((1, 5 if number % 2 else 4), number, numpy.float32)})
        except Exception:
            print('failed', number)


def case_texts(model, count):
    created = session(model)
    for number in range(count):
        created.run(None, {'x': numpy.array(['a', str(number)], object)})


def case_killed(model, count):
    case_arrays(model, count)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]](sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
