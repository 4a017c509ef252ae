# SPDX-License-Identifier: Apache-2.0
"""Prints what a program can see of the Python around it, without the hook's own module."""
import os
import sys

OURS = ('inferogram_hook',)

print(sys.path)
print(sys.flags)
print(sorted(name for name in sys.modules if not name.startswith(OURS)))
print([type(finder).__name__ for finder in sys.meta_path if type(finder).__name__ != 'ImportWaiter'])
print(sorted(os.path.basename(key) for key in sys.path_importer_cache))
print(getattr(sys.modules.get('sitecustomize'), '__file__', None))
print(sys.argv, sys.executable, sys.prefix, __name__)
