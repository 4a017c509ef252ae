# SPDX-License-Identifier: Apache-2.0
"""The way into Python programs that `inferogram record` launches.

Python imports this at its start because its directory is the first of PYTHONPATH. It must not be
noticed: it takes its directory out of sys.path, waits for a runtime to be imported, and then lets
Python go on to the sitecustomize that it would have found without us.

This runs in every Python of the launched tree, whatever its version, and is compiled each time
where nobody may write a .pyc file beside it: short, no import that Python has not done by itself,
no syntax that an old Python refuses.
"""
import os
import sys

DIRECTORY = os.path.dirname(__file__)


class ImportWaiter(object):
    """A finder that finds nothing. It only notes that a runtime is being looked for."""

    def __init__(self):
        self.names = set(['onnxruntime', 'iree.runtime', 'iree.compiler.tools.core'])

    def find_spec(self, name, path=None, target=None):
        if name not in self.names:
            return None
        try:
            return hook().watched_spec(self, name, path, target)
        except Exception:
            return None  # the finders after us will say the same, to the program


def hook():
    """The hook proper, which is not on sys.path."""
    if 'inferogram_hook' not in sys.modules:
        from importlib import util
        spec = util.spec_from_file_location(
            'inferogram_hook', os.path.join(DIRECTORY, 'inferogram_hook', '__init__.py'))
        sys.modules['inferogram_hook'] = util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules['inferogram_hook'])
    return sys.modules['inferogram_hook']


if __name__ == 'sitecustomize':
    sys.path[:] = [entry for entry in sys.path if entry != DIRECTORY]
    sys.path_importer_cache.pop(DIRECTORY, None)
    this = sys.modules.pop(__name__, None)  # held: an old Python empties what nobody holds
    if (os.environ.get('IFG_SESSION') or os.environ.get('IFG_PROFILE')) and os.environ.get('IFG_OFF', '') in ('', '0') and \
            sys.version_info >= (3, 8):
        sys.meta_path.insert(0, ImportWaiter())
    # Its absence, and every error in it, is Python's to judge, as if it had come here directly.
    import sitecustomize  # noqa: F401
