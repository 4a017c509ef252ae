# SPDX-License-Identifier: Apache-2.0
"""What programs that call a C library have in common: they do what lines on standard input say.

  load PATH   makes a model; it is the one that runs from now on
  run N       so many inferences
  end         says goodbye to the library, and ends

Each line is answered by one line: what was asked, and "ok" or "failed".
"""
import ctypes
import sys

POINTER = ctypes.c_void_p
INT = ctypes.c_int


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


def serve(runtime):
    print('ready', flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(' ')
        if word == 'load':
            good = runtime.load(rest.encode())
        elif word == 'run':
            good = all([runtime.run() for _ in range(int(rest))])
        else:
            break
        print(line.strip(), 'ok' if good else 'failed', flush=True)
    runtime.close()
    print('end', flush=True)
