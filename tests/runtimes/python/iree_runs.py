# SPDX-License-Identifier: Apache-2.0
"""What Python programs do with IREE: iree_runs.py CASE MODULE [COUNT]. The module is add.mlir's.

It knows nothing of being recorded, and prints what it sees.
"""
import os
import sys
import threading

import iree.runtime
import numpy

X = numpy.array([1, -2, 3, -4], numpy.float32)
SOURCE = """
module @compiled {
  func.func @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.addf %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


def infer(module):
    return numpy.asarray(module.add(X, X)).tolist()


def case_plain(path, count):
    module = iree.runtime.load_vm_flatbuffer_file(path, driver='local-task')
    print([infer(module) for _ in range(count)][-1])
    print(module.vm_module, module.add, iree.runtime.VmContext.invoke.__name__)


def case_ways(path, count):
    """Each way to make a module, and both to make a context."""
    with open(path, 'rb') as file:
        data = file.read()
    config = iree.runtime.Config('local-sync')
    instance = config.vm_instance
    made = [iree.runtime.VmModule.mmap(instance, path),
            iree.runtime.VmModule.copy_buffer(instance, bytearray(data)),
            iree.runtime.VmModule.from_flatbuffer(instance, data, warn_if_copy=False)]
    for each in made:
        module = iree.runtime.load_vm_module(each, config)
        print([infer(module) for _ in range(count)][-1])
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.mmap(instance, path))
    print(infer(context.modules.module))


def case_threads(path, count):
    shared = iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync')

    def work():
        own = iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync')
        for _ in range(count):
            infer(own)
            infer(shared)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print('done')


def case_direct(path, count):
    """The lower interface, without a FunctionInvoker."""
    config = iree.runtime.Config('local-sync')
    module = iree.runtime.VmModule.mmap(config.vm_instance, path)
    hal = iree.runtime.create_hal_module(config.vm_instance, devices=[config.device])
    context = iree.runtime.VmContext(config.vm_instance, modules=[hal, module])
    function = module.lookup_function('add')
    view = config.device.allocator.allocate_buffer_copy(
        memory_type=iree.runtime.MemoryType.DEVICE_LOCAL, allowed_usage=iree.runtime.BufferUsage.DEFAULT,
        device=config.device, buffer=X, element_type=iree.runtime.HalElementType.FLOAT_32)
    for _ in range(count):
        arguments, results = iree.runtime.VmVariantList(2), iree.runtime.VmVariantList(1)
        arguments.push_ref(view)
        arguments.push_ref(view)
        context.invoke(function, arguments, results)
    print(len(results))


def case_errors(path, count):
    module = iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync')
    for arguments in ((X,), (X, X[:3]), ('text', X)):
        for _ in range(count):
            try:
                module.add(*arguments)
            except ValueError as error:
                print(error)
    infer(module)
    for broken in (path + '.missing', __file__):
        try:
            iree.runtime.load_vm_flatbuffer_file(broken, driver='local-sync')
        except Exception as error:  # which, is IREE's to choose
            print(type(error).__name__)
    try:
        iree.runtime.Config('no-such-driver')
    except Exception as error:
        print(type(error).__name__, error)


def case_uncaught(path, _):
    iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync').add(X, X[:3])


def case_unconverted(path, _):
    iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync').add('text', X)


def case_missing(path, _):
    iree.runtime.load_vm_flatbuffer_file(path + '.missing', driver='local-sync')


def case_no_device(*_):
    iree.runtime.Config('no-such-driver')


def case_compile(path, count):
    import iree.compiler
    options = {'target_backends': ['vmvx'], 'input_type': 'none'}
    data = iree.compiler.compile_str(SOURCE, **options)
    module = iree.runtime.load_vm_flatbuffer(data, driver='local-sync')
    print([numpy.asarray(module.twice(X)).tolist() for _ in range(count)][-1])
    iree.compiler.tools.compile_str(SOURCE, output_file=path + '.out', **options)
    print(os.path.exists(path + '.out'))
    try:
        iree.compiler.compile_str('nonsense', **options)
    except iree.compiler.CompilerToolError:
        print('refused')


def case_forever(path, count):
    """Says when so many calls are over, and is killed in the next one."""
    module = iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync')
    for _ in range(count):
        infer(module)
    print('ready', os.getpid(), flush=True)
    module.spin(1 << 60)


def case_fork(path, count):
    module = iree.runtime.load_vm_flatbuffer_file(path, driver='local-sync')
    infer(module)
    child = os.fork()
    for _ in range(count):
        infer(module)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    print('done')


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]](sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
