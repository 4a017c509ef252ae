# SPDX-License-Identifier: Apache-2.0
"""What Python programs do with ONNX Runtime: runs.py CASE MODEL [COUNT]. Models have an input x of Nx4.

It knows nothing of being recorded, and prints what it sees of its own session.
"""
import _thread
import multiprocessing
import os
import pickle
import sys
import threading
import warnings

import numpy
import onnxruntime

X = numpy.array([[1, -2, 3, -4]], numpy.float32)


class Described(onnxruntime.InferenceSession):
    """A subclass that can be pickled, as programs write it."""

    def __init__(self, path):
        super().__init__(path, providers=['CPUExecutionProvider'])
        self.path = path

    def run(self, *args):
        return super().run(*args)

    def __getstate__(self):
        return {'path': self.path}

    def __setstate__(self, state):
        self.__init__(state['path'])


def session(model, **options):
    return onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'], **options)


def infer(created):
    return created.run(None, {'x': X})[0].tolist()


def case_plain(model, count):
    created = session(model)
    print([infer(created) for _ in range(count)][-1])
    print(created.get_providers(), created.get_provider_options())
    print(onnxruntime.get_available_providers(), created.get_session_options().enable_profiling)


def case_two(model, count):
    first, second = session(model), session(model)
    with open(model, 'rb') as file:
        third = session(file.read())
    print([infer(each) for each in (first, second, third) for _ in range(count)][-1])


def case_threads(model, count):
    created = session(model)

    def work():
        for _ in range(count):
            infer(created)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print('done')


def case_bare(model, count):
    """Threads without a line of Python below them."""
    created = session(model)
    feeds = []

    class Feed(dict):
        def __del__(self):
            feeds.append(1)

    for _ in range(count):
        _thread.start_new_thread(created.run, (None, Feed(x=X)))
    while len(feeds) < count:
        threading.Event().wait(0.001)
    print('done')


def case_errors(model, count):
    created = session(model)
    for feed in ({'x': X[:, :3]}, {}, {'y': X}, {'x': 'text'}, None):
        try:
            created.run(None, feed)
        except Exception as error:
            print(type(error).__name__, error)
    for arguments in ((), (None,), (None, {'x': X}, None, None)):
        try:
            created.run(*arguments)
        except TypeError as error:
            print(error)
    for wrong in (model + '.missing', os.path.join(os.path.dirname(model), 'broken.onnx'), b'text', 7):
        try:
            session(wrong)
        except Exception as error:
            print(type(error).__name__, error)
    print(infer(created))


def case_async(model, count):
    created = session(model)
    for _ in range(count):
        done = threading.Event()

        def callback(results, user_data, error):
            print(results[0].tolist(), error)
            user_data.set()

        created.run_async(None, {'x': X}, callback, done)
        print(done.wait(20))


def case_binding(model, count):
    created = session(model)
    for _ in range(count):
        binding = created.io_binding()
        binding.bind_cpu_input('x', X)
        binding.bind_output('y')
        created.run_with_iobinding(binding)
        print(binding.copy_outputs_to_cpu()[0].tolist())
    value = onnxruntime.OrtValue.ortvalue_from_numpy(X)
    print(created.run_with_ort_values(['y'], {'x': value})[0].numpy().tolist())


def case_absent(model, count):
    warnings.simplefilter('ignore')
    onnxruntime.set_default_logger_severity(4)  # its lines have the time in them
    created = onnxruntime.InferenceSession(
        model, providers=[('CUDAExecutionProvider', {'device_id': 0}), 'CPUExecutionProvider'])
    print(infer(created), created.get_providers())


def case_subclass(model, count):
    created = pickle.loads(pickle.dumps(Described(model)))
    print(infer(created), Described.run.__qualname__)
    print(onnxruntime.InferenceSession.run.__name__, onnxruntime.InferenceSession.run.__doc__[:40])


def case_options(model, count):
    """The program's own options and profile are its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for _ in range(2):
        infer(session(model, sess_options=options))
    print(options.enable_profiling, options.profile_file_prefix, options.intra_op_num_threads)
    options.enable_profiling = True
    options.profile_file_prefix = 'own'
    created = session(model, sess_options=options)
    infer(created)
    written = created.end_profiling()
    print(os.path.basename(written)[:4], os.path.getsize(written) > 0)
    print(repr(session(model).end_profiling()))


def child(model, count):
    created = session(model)
    for _ in range(count):
        infer(created)


def case_fork(model, count, method='fork'):
    warnings.simplefilter('ignore')
    context = multiprocessing.get_context(method)
    children = [context.Process(target=child, args=(model, count)) for _ in range(2)]
    for each in children:
        each.start()
    for each in children:
        each.join()
    print([each.exitcode for each in children])


def case_spawn(model, count):
    case_fork(model, count, 'spawn')


def case_inherited(model, count):
    """The session of a parent, used by its child: one thread, so that it survives the fork."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    created = session(model, sess_options=options)
    infer(created)
    pid = os.fork()
    if pid == 0:
        for _ in range(count):
            infer(created)
        os._exit(3)
    print(os.waitpid(pid, 0)[1] >> 8)


def case_formats(model, count):
    """Saves the model in both ways, and loads what was saved."""
    for saved in ('saved.onnx', 'saved.ort'):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = saved
        session(model, sess_options=options)
        options.optimized_model_filepath = ''
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        infer(session(saved, sess_options=options))
    session(model, sess_options=options)


def case_forever(model, count):
    created = session(model)
    for index in range(count):
        infer(created)
        threading.Event().wait(0.001)
    print('still here')


def case_stuck(model, count):
    """A load that takes until nobody writes to the pipe any more."""
    bindings = onnxruntime.capi._pybind_state.InferenceSession
    initialize = bindings.initialize_session

    def wait(*args):
        print('loading', os.getpid(), flush=True)
        with open('wait-here') as waiting:
            waiting.read()
        return initialize(*args)

    bindings.initialize_session = wait
    session(model)


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]](sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
