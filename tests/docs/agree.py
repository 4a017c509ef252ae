# SPDX-License-Identifier: Apache-2.0
"""Compares what documents and man pages state with what the binary does: agree.py WHAT BINARY ROOT"""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

WHAT, TOOL, ROOT = sys.argv[1:]

# Options of other programs that the documents name, and of our own tools.
FOREIGN = {
    'build', 'call-graph', 'cap-add', 'cflags', 'check', 'countname', 'cpus', 'device', 'hf-token',
    'its', 'libs', 'minutes', 'once', 'perf-basic-prof', 'perf-prof', 'rooms', 'security-opt', 'token',
    'update', 'variable', 'version', 'zones',
}
# Those of cmake and of IREE's tools are too much like ours to be let through everywhere.
FOREIGN_IN = {'docs/iree.md': {'benchmark', 'function', 'input', 'module', 'target'}, 'docs/python.md': {'inferogram', 'no-report'},
              'docs/packaging.md': {'packages', 'update-abi', 'user'}, 'docs/arm64.md': {'arm'}}
bad = []


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=True).stdout


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def documents():
    """README, guides and man pages; not the history, which may name what is gone."""
    for pattern in ('README.md', 'docs/*.md', 'man/*.scd'):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            yield os.path.relpath(path, ROOT)


def same(what, one, other, names=('the binary', 'the document')):
    if set(one) != set(other):
        for name, more in zip(names, (set(one) - set(other), set(other) - set(one))):
            if more:
                bad.append(f'{what}: only {name} has {", ".join(sorted(map(str, more)))}')


def commands():
    return sorted({line.split('\t')[0] for line in run('--list-options').splitlines()})


def section(path, title):
    found = re.search(r'^# %s\n(.*?)(?=^# |\Z)' % title, text_of(path), re.M | re.S)
    return found.group(1) if found else ''


def codes_of_help(text):
    """The numbers that begin a part of the sentence, as in: 0 success, 126 or 127 CMD cannot start."""
    sentence = ' '.join(re.search(r'^Exit status: (.*?)\Z', text, re.M | re.S).group(1).split())
    parts = re.findall(r'(?:^|, |; |\. |: )(\d+)(?: or (\d+))?(?= )', sentence)
    return {code for pair in parts for code in pair if code}


def codes_of_page(path):
    text = section(path, 'EXIT STATUS')
    return set(re.findall(r'^\*(\d+)\*$', text, re.M)) | set(re.findall(r'(?:^|, )(\d) ', text, re.M))


def exits():
    """exit codes: --help, man pages and README"""
    main = codes_of_help(run('--help'))
    same('inferogram --help and inferogram(1): exit codes', main, codes_of_page('man/inferogram.1.scd'))
    readme = re.search(r'Exit status of every command: (.*?)\.', text_of('README.md'), re.S).group(1)
    same('inferogram --help and README.md: exit codes', main, re.findall(r'\b(\d)\b', readme))
    for command in commands():
        page = f'man/inferogram-{command}.1.scd'
        if command == 'live':
            if '*inferogram-record*(1)' not in section(page, 'EXIT STATUS'):
                bad.append(f'{page}: the exit status is that of inferogram-record(1)')
            continue
        same(f'{command} --help and {page}: exit codes', codes_of_help(run(command, '--help')),
             codes_of_page(page) - {'128'})


def options():
    """options that documents name exist"""
    known = {line.split('\t')[1] for line in run('--list-options').splitlines()}
    for path in documents():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for name in re.findall(r'(?<![\w-])--([a-z][a-z-]+)(?![\w-]*=?\.\.\.)', line):
                foreign = name in FOREIGN | FOREIGN_IN.get(path, set()) or name.startswith('iree-')
                if f'--{name}' not in known and not foreign:
                    bad.append(f'{path}:{number}: no command has the option --{name}')


def names():
    """commands that documents name exist"""
    known = set(commands()) | {'help'}
    for path in documents():
        text = text_of(path)
        for word in re.findall(r'\binferogram-([a-z]+)\*?\(1\)', text):
            if word not in known:
                bad.append(f'{path}: there is no inferogram-{word}(1)')
        for word in re.findall(r'(?:`|^\$ |^|\| )(?:inferogram|ifg) ([a-z]+)(?=[ `\n])', text, re.M):
            if word not in known:
                bad.append(f'{path}: there is no command inferogram {word}')
    table = re.search(r'\n\n((?:  [a-z]+ +\S.*\n)+)\n', run('--help')).group(1)
    same('inferogram --help: commands', commands(), re.findall(r'^  ([a-z]+) ', table, re.M))


def version():
    """format version: traces, docs/trace-format.md and inferogram-trace(5)"""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'one.ifg')
        event = [{'ph': 'X', 'ts': 1, 'dur': 1, 'pid': 1, 'tid': 1, 'name': 'one'}]
        subprocess.run([TOOL, 'import', '-', '--format', 'chrome', '-o', trace], input=json.dumps(event),
                       text=True, check=True, capture_output=True)
        with open(trace, 'rb') as file:
            major, minor = struct.unpack('<HH', file.read(12)[8:])
    document = text_of('docs/trace-format.md')
    for path, text, wanted in [
            ('docs/trace-format.md', document, f'# The trace file, version {major}.{minor}\n'),
            ('docs/trace-format.md', document, f'major version, {major}.'),
            ('docs/trace-format.md', document, f'minor version, {minor}.'),
            ('man/inferogram-trace.5.scd', text_of('man/inferogram-trace.5.scd'), f'(now {major}.{minor})')]:
        if wanted not in text:
            bad.append(f'{path}: lacks "{wanted.strip()}"; traces are of version {major}.{minor}')


def findings():
    """findings: explain, docs/findings.md and README"""
    words = re.search(r"_inferogram_words '(ep-fallback[^']*)'", run('completions', 'bash')).group(1)
    headings = re.findall(r'^## ([a-z-]+)$', text_of('docs/findings.md'), re.M)
    same('docs/findings.md: findings', words.split(), headings)
    if f'[{len(headings)} findings]' not in text_of('README.md'):
        bad.append(f'README.md: there are {len(headings)} findings')


def glossary():
    """words: docs/glossary.md has those of docs/architecture.md"""
    words = text_of('docs/architecture.md').split('\n## Words\n')[1].split('\n## ')[0]
    wanted = re.findall(r'^\| \*\*(.*?)\*\*', words, re.M)
    missing = [word for word in wanted if f'**{word}**' not in text_of('docs/glossary.md')]
    if missing or len(wanted) < 10:
        bad.append(f'docs/glossary.md: lacks {", ".join(missing)}')


CHECKS = [exits, options, names, version, findings, glossary]

if WHAT == 'list':
    for check in CHECKS:
        print(check.__name__, check.__doc__)
    sys.exit(0)
next(check for check in CHECKS if check.__name__ == WHAT)()
for line in bad:
    print(line)
sys.exit(1 if bad else 0)
