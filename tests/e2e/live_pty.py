#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of 24 x 80, or of PTY_SIZE, presses q once it has drawn events, and prints all it wrote and its status."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

os.environ['LC_ALL'] = 'C.UTF-8'
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', *map(int, os.environ.get('PTY_SIZE', '24 80').split()), 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
output = b''
pressed = False
give_up = time.monotonic() + 90
while time.monotonic() < give_up:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    if not pressed and output.count(b'known') >= 3 and b'CPU' in output:
        os.write(terminal, b'q')
        pressed = True
else:
    os.kill(child, 9)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.buffer.write(output.replace(b'\r', b''))
print(f'\nstatus {status}')
