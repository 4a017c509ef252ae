#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with a text in it: embed_text.py TEXT NAME OUT"""

import sys


def main():
    path, name, out = sys.argv[1:]
    with open(path, 'rb') as file:
        data = file.read() + b'\0'
    with open(out, 'w', encoding='ascii') as file:
        file.write(f'/* Written by embed_text.py. */\nextern const char {name}[];\nconst char {name}[] = {{\n')
        for at in range(0, len(data), 24):
            file.write(','.join(str(byte if byte < 128 else byte - 256) for byte in data[at:at + 24]) + ',\n')
        file.write('};\n')


main()
