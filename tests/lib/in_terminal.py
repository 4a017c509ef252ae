# SPDX-License-Identifier: Apache-2.0
"""Runs a command at a terminal: in_terminal.py COLUMNS [--rows N] [--stderr FILE] [--await TEXT --type KEYS]... [--end KEYS]
COMMAND...

Prints what the terminal got, exits with the command's status. --await waits for a text before the keys are typed ('^C'
is Ctrl-C); --end types keys again and again after that, until the command ends. Standard error goes to FILE, else to the terminal as well."""
import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60


def read_some(terminal, deadline, keys):
    """What the terminal has; types the keys while it has nothing."""
    while not select.select([terminal], [], [], 0.3)[0]:
        if time.monotonic() > deadline:
            sys.exit('nothing more came')
        os.write(terminal, keys)
    try:
        return os.read(terminal, 65536)
    except OSError as error:  # Linux tells so that the other end is closed
        if error.errno != errno.EIO:
            raise
        return b''


def main():
    words = sys.argv[1:]
    columns = int(words.pop(0))
    rows, stderr, typed, last = 24, None, [], b''
    while words and words[0].startswith('--'):
        option, value = words.pop(0), words.pop(0)
        if option == '--rows':
            rows = int(value)
        elif option == '--stderr':
            stderr = open(value, 'wb')
        elif option == '--await':
            typed.append([value.encode(), b''])
        elif option == '--end':
            last = value.encode()
        elif option == '--type':
            typed[-1][1] = value.replace('^C', '\x03').encode()
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(words, stdin=other, stdout=other, stderr=stderr or other, preexec_fn=take_terminal)
    os.close(other)
    deadline = time.monotonic() + PATIENCE
    text, seen = b'', 0
    while True:
        part = read_some(terminal, deadline, b'' if typed else last)
        if not part:
            break
        text += part
        while typed and typed[0][0] in text[seen:]:
            wanted, keys = typed.pop(0)
            seen = text.index(wanted, seen) + len(wanted)
            os.write(terminal, keys)
    status = child.wait(timeout=PATIENCE)
    sys.stdout.buffer.write(text.replace(b'\r\n', b'\n'))
    sys.exit(128 - status if status < 0 else status)


main()
