# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own and presses Ctrl-C there.

usage: record_pty.py PRESSES WAIT_FOR COMMAND...

Presses Ctrl-C once WAIT_FOR has appeared on the terminal, PRESSES times, each when the command has taken the one before.
What the terminal showed goes to stdout; the last line is `status N`.
"""

import os
import pty
import select
import sys
import time

PRESSES, WAIT_FOR, COMMAND = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(COMMAND[0], COMMAND)



def is_waiting():
    """The command has not taken the signal of the last press."""
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as lines:
        return any(line.startswith('ShdPnd:') and int(line.split()[1], 16) & 2 for line in lines)


shown = b''
presses = 0
next_press = None
end = time.monotonic() + 90
status = None
while time.monotonic() < end:
    if select.select([terminal], [], [], 0.02)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b''
        shown += data
        if not data:
            break
    if next_press is None and WAIT_FOR in shown:
        next_press = time.monotonic() + 0.3
    if next_press is not None and presses < PRESSES and time.monotonic() >= next_press and not is_waiting():
        os.write(terminal, b'\x03')
        presses += 1
        next_press = time.monotonic() + 0.1
    done, value = os.waitpid(pid, os.WNOHANG)
    if done:
        status = os.waitstatus_to_exitcode(value)
        # The terminal may hold a little more.
        while select.select([terminal], [], [], 0.05)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        break
if status is None:
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(shown + b'\nstatus %d\n' % status)
