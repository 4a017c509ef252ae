# SPDX-License-Identifier: Apache-2.0
"""Records what a Python program does with ONNX Runtime; loaded when it looks for `onnxruntime`.

The wheel holds its own ONNX Runtime, which no preloaded library can see. So the Python classes are
wrapped: sessions, runs, bindings. Whatever goes wrong here is swallowed: the program goes on.
"""
import os
import sys

HOOKS_DIRECTORY = os.path.dirname(os.path.dirname(__file__))


def watched_spec(waiter, name, path, target):
    """What the finders after `waiter` find. The loader stays the one that the program would see;
    only its next use goes past us."""
    for finder in sys.meta_path:
        find_spec = getattr(finder, 'find_spec', None)
        spec = find_spec(name, path, target) if find_spec and finder is not waiter else None
        if spec is not None:
            watch(spec.loader, waiter)
            return spec
    return None


def watch(loader, waiter):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        finish = begin()
        execute(module)
        if waiter in sys.meta_path:
            sys.meta_path.remove(waiter)
        if finish is not None:
            finish(module)

    loader.exec_module = exec_module


def begin():
    """Before onnxruntime is imported; returns what to call with the module afterwards, or None."""
    try:
        from . import client
        library = client.load(HOOKS_DIRECTORY)
        start = library.ticks() if library is not None else 0
    except Exception:
        library = None
    if library is None:
        return None  # and there is nobody to tell

    def finish(module):
        end = library.ticks()
        try:
            from . import install
            install.install(library, module, HOOKS_DIRECTORY)
            if library.recording[0]:
                location = library.location('import onnxruntime', 'import')
                library.write_zone(location, start, end)
        except Exception as error:
            library.report_trouble(getattr(module, '__version__', ''), error)

    return finish
