# SPDX-License-Identifier: Apache-2.0
"""The part of inferogram-ort-helper that runs inside the interpreter of a watched Python program.

  python helper.py LIBRARY MODULE [DIRECTORY...]

MODULE is the onnxruntime_pybind11_state*.so of the program, DIRECTORY what its sys.path has. ONNX Runtime is part of
that module and exports nothing, but it hands its table of functions to a library of custom operators: LIBRARY, which
does the job that the environment names, and tells on descriptor 3 how run() and the others come to its operator.
"""

import math
import os
import sys

RESULT_FD = 3
MODEL_FD = 4
NESTED_FD = 5
MODULE_FD = 6
MODEL_PATH = f'/proc/self/fd/{MODEL_FD}'
JOB_VARIABLE = 'INFEROGRAM_ORT_HELPER_JOB'
TRIES = [(1, 1), (1, 16000), (2, 1), (3, 1), (1, 0), (16, 1), (32, 1), (64, 1), (320, 1), (512, 16000), (1536, 1)]
ELEMENTS_MAX = 1 << 23  # of one input; more takes too long
LABEL_VARIABLE = 'INFEROGRAM_ORT_HELPER_LABEL'


def tell(word, sentence=''):
    os.write(RESULT_FD, f'{word} {" ".join(str(sentence).split())}'.rstrip().encode('utf-8', 'replace') + b'\n')


def import_module(module, directories):
    """The package whose extension module is that file."""
    site = os.path.dirname(os.path.dirname(os.path.dirname(module)))
    for directory in reversed([site, *directories]):
        if directory not in sys.path:
            sys.path.insert(0, directory)
    import onnxruntime  # pylint: disable=import-outside-toplevel
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # pylint: disable=import-outside-toplevel
    if not os.path.samestat(os.stat(state.__file__), os.fstat(MODULE_FD)):
        raise ImportError(f'import onnxruntime gives {state.__file__}')
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def options_with(onnxruntime, library, label):
    """Options for a session with our operators. What happens from now on has this label."""
    os.environ[LABEL_VARIABLE] = label
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(library)
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def look(onnxruntime, library, prefix):
    """The ways that Python programs go: a model from memory and from a file, run() and run_with_iobinding()."""
    import numpy  # pylint: disable=import-outside-toplevel
    providers = ['CPUExecutionProvider']
    value = numpy.ones([1], numpy.float32)
    model = os.pread(MODEL_FD, 1 << 16, 0)

    options = options_with(onnxruntime, library, f'{prefix}array')
    session = onnxruntime.InferenceSession(model, options, providers=providers)
    options = options_with(onnxruntime, library, f'{prefix}path')
    other = onnxruntime.InferenceSession(MODEL_PATH, options, providers=providers)
    source, result = session.get_inputs()[0].name, session.get_outputs()[0].name
    options_with(onnxruntime, library, f'{prefix}run')
    session.run(None, {source: value})
    options_with(onnxruntime, library, f'{prefix}other')
    other.run(None, {source: value})
    binding = session.io_binding()
    binding.bind_cpu_input(source, value)
    binding.bind_output(result)
    options_with(onnxruntime, library, f'{prefix}bind')
    session.run_with_iobinding(binding)
    options = options_with(onnxruntime, library, f'{prefix}nested')
    nested = onnxruntime.InferenceSession(os.pread(NESTED_FD, 1 << 16, 0), options, providers=providers)
    options_with(onnxruntime, library, f'{prefix}nested')
    nested.run(None, {source: value})
    return session, other, nested  # all live until the end, so that no address is used twice


def made_up(numpy, value, size, integer):
    """An array for an input. Only numbers, truth values and texts can be made up."""
    kinds = {'float': numpy.float32, 'double': numpy.float64, 'bool': numpy.bool_, 'string': numpy.str_}
    name = value.type[len('tensor('):-1] if value.type.startswith('tensor(') else ''
    kind = kinds.get(name) or getattr(numpy, name, None)
    if kind is None:
        raise ValueError(f'no value can be made up for {value.name} of type {value.type}')
    shape = [size if not isinstance(n, int) or n < 0 else n for n in value.shape]
    if math.prod(shape) > ELEMENTS_MAX:
        raise ValueError(f'inputs of size {size} are too large to be made up')
    if kind is numpy.str_:
        return numpy.full(shape, 'a', dtype=object)
    if numpy.issubdtype(kind, numpy.floating):
        return numpy.random.default_rng(12345).uniform(-1, 1, shape).astype(kind)
    return numpy.full(shape, integer, dtype=kind)


def run_once(onnxruntime, job):
    """The model with profiling on, with inputs of several sizes until a run succeeds."""
    import numpy  # pylint: disable=import-outside-toplevel
    words = [line.split(' ', 1) for line in job.splitlines()[1:]]
    named = dict(words)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = named['profile']
    options.intra_op_num_threads = int(named.get('threads', 1)) or 1
    levels = {0: 'ORT_DISABLE_ALL', 1: 'ORT_ENABLE_BASIC', 2: 'ORT_ENABLE_EXTENDED', 99: 'ORT_ENABLE_ALL'}
    if int(named.get('level', -1)) in levels:
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, levels[int(named['level'])])
    providers = [value for key, value in words if key == 'provider'] + ['CPUExecutionProvider']
    session = onnxruntime.InferenceSession(named['model'], options, providers=list(dict.fromkeys(providers)))
    why = None
    for size, integer in TRIES:
        size = int(named.get('size', 0)) or size
        try:
            session.run(None, {value.name: made_up(numpy, value, size, integer) for value in session.get_inputs()})
            tell('run', f'ok {size} {integer}')
            break
        except Exception as failed:  # pylint: disable=broad-except # its kinds differ between versions
            why = failed
    else:
        tell('run', f'failed {why}')
    tell('profile', ''.join(f'%{ord(c):02x}' if c <= ' ' or c == '%' else c for c in session.end_profiling()))


def main(library, module, *directories):
    try:
        onnxruntime = import_module(module, directories)
        os.environ.pop(LABEL_VARIABLE, None)
        job = os.environ.get(JOB_VARIABLE, '')
        if job == 'backtrace':
            onnxruntime.SessionOptions().register_custom_ops_library(library)
            kept = look(onnxruntime, library, 'python-')
            kept += look(onnxruntime, library, 'python-check-')
            options_with(onnxruntime, library, 'python-end')
        else:
            run_once(onnxruntime, job)
    except Exception as why:  # pylint: disable=broad-except # whatever the program's packages raise
        tell('error', f'{type(why).__name__}: {why}')
        return 1
    tell('end')
    return 0


if __name__ == '__main__':
    STATUS = main(*sys.argv[1:])
    os._exit(STATUS)  # nothing of what foreign packages left for the end
