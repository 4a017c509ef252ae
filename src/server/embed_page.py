#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an assembler file that has the files of the page in it: embed_page.py DIST OUT

Run by every build, because the page may have been built since. OUT is touched only when it would be
different; the checksums in it see to it that the files' contents count. A file that is not there is
empty, and the program says that it was built without its page."""

import hashlib
import os
import sys

FILES = ['index.html', 'app.js', 'app.css', 'favicon.svg']


def main():
    dist, out = sys.argv[1:]
    lines = ['/* Written by embed_page.py. */', '.section .rodata']
    for name in FILES:
        path = os.path.abspath(os.path.join(dist, name))
        symbol = 'page_' + name.replace('.', '_')
        lines += [f'.globl {symbol}', f'.globl {symbol}_end', '.balign 16', f'{symbol}:']
        if os.path.exists(path):
            with open(path, 'rb') as file:
                lines.append(f'/* {hashlib.sha256(file.read()).hexdigest()} */')
            lines.append(f'.incbin "{path}"')
        lines += [f'{symbol}_end:', '.byte 0']
    lines.append('.section .note.GNU-stack,"",%progbits')
    text = '\n'.join(lines) + '\n'
    if os.path.exists(out):
        with open(out, encoding='utf-8') as file:
            if file.read() == text:
                return
    with open(out, 'w', encoding='utf-8') as file:
        file.write(text)


if __name__ == '__main__':
    main()
