# SPDX-License-Identifier: Apache-2.0
"""The commands `inferogram` and `ifg` of the wheel: they become the program that lies in the package.

Nothing is imported that is not needed, nothing is added to the environment: what the program starts sees what it would
see without Python in between."""
import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), '_tree', 'bin', 'inferogram')


def installed():
    """The program of a system package, for a Python package that has none in it: no script, which might be this one."""
    for folder in os.environ.get('PATH', os.defpath).split(os.pathsep):
        path = os.path.join(folder, 'inferogram')
        try:
            with open(path, 'rb') as file:
                if file.read(4) == b'\x7fELF' and os.access(path, os.X_OK):
                    return path
        except OSError:
            continue
    return None


def main():
    program = PROGRAM if os.path.exists(PROGRAM) else installed()
    if not program:
        sys.stderr.write(f'inferogram: the program is missing in this package ({PROGRAM}) and on PATH; install it again\n')
        return 4
    try:
        os.execv(program, [program] + sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f'inferogram: cannot run {program}: {error.strerror}\n')
        return 4
