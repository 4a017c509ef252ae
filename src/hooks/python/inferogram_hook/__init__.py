# SPDX-License-Identifier: Apache-2.0
"""Records what a Python program does with a runtime; loaded when it looks for one of PACKAGES.

The wheels hold runtimes that no preloaded library can see. So their Python classes are wrapped:
sessions, modules, runs. Whatever goes wrong here is swallowed: the program goes on.
"""
import importlib
import os
import sys

HOOKS_DIRECTORY = os.path.dirname(os.path.dirname(__file__))

# What sitecustomize.py waits for: the module, and the one in here whose install() wraps it.
PACKAGES = {
    'onnxruntime': 'install',
    'iree.runtime': 'iree_runtime',
    'iree.compiler.tools.core': 'iree_compiler',
}


def watched_spec(waiter, name, path, target):
    """What the finders after `waiter` find. The loader stays the one that the program would see;
    only its next use goes past us."""
    for finder in sys.meta_path:
        find_spec = getattr(finder, 'find_spec', None)
        spec = find_spec(name, path, target) if find_spec and finder is not waiter else None
        if spec is not None:
            watch(spec.loader, waiter, name)
            return spec
    return None


def watch(loader, waiter, name):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        finish = begin(name)
        execute(module)
        waiter.names.discard(name)
        if not waiter.names and waiter in sys.meta_path:
            sys.meta_path.remove(waiter)
        if finish is not None:
            finish(module)

    loader.exec_module = exec_module


def begin(name):
    """Before it is imported; returns what to call with the module afterwards, or None."""
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
            installer = importlib.import_module('.' + PACKAGES[name], __name__)
            installer.install(library, module, HOOKS_DIRECTORY)
            if library.recording[0]:
                location = library.location('import ' + name, 'import')
                library.write_zone(location, start, end)
        except Exception as error:
            library.report_trouble(client.instrument_name(
                name, getattr(module, '__version__', '')), error)

    return finish
