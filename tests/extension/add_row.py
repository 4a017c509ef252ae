#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""add_row.py TABLE NAME OUT: a copy of a table.c with one more row, and nothing else: what a contributor does by hand."""

import re
import sys


def main():
    table, name, out = sys.argv[1:]
    with open(table, encoding='utf-8') as file:
        text = file.read()
    text, count = re.subn(r'\n    ROW\((\w+)\)\n', rf'\n    ROW(\1) \\\n    ROW({name})\n', text)
    if count != 1:
        sys.exit(f'{table}: where does the list of rows end?')
    with open(out, 'w', encoding='utf-8') as file:
        file.write(text)


if __name__ == '__main__':
    main()
