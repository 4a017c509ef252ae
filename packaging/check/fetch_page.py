# SPDX-License-Identifier: Apache-2.0
"""fetch_page.py PROGRAM TRACE: starts `serve`, gets the page from the address that it prints, and ends it."""
import re
import subprocess
import sys
import urllib.request

server = subprocess.Popen([sys.argv[1], 'serve', '--quiet', sys.argv[2]], stdout=subprocess.PIPE, text=True)
try:
    address = re.search(r'http://127\.0\.0\.1:\d+/\S*', server.stdout.readline())[0]
    with urllib.request.urlopen(address, timeout=30) as answer:
        page = answer.read().decode()
    if '<script' not in page or 'Inferogram' not in page:
        sys.exit(f'not the page: {page[:200]!r}')
    print(f'serve: {answer.status}, {len(page)} bytes')
finally:
    server.terminate()
    server.wait()
