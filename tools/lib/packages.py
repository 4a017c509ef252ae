# SPDX-License-Identifier: Apache-2.0
"""What the programs tools/package-* share: the tree of `meson install`, what its files need, and files of fixed times."""

import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
MACHINES = {62: 'x86_64', 183: 'aarch64'}  # e_machine of ELF


class Failed(Exception):
    """One line that says what cannot be done and why."""


def say(text):
    print(f'{os.path.basename(sys.argv[0])}: {text}', flush=True)


def main(function):
    try:
        sys.exit(function() or 0)
    except Failed as failed:
        print(f'{os.path.basename(sys.argv[0])}: {failed}', file=sys.stderr)
        sys.exit(1)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, mode)


def version():
    return read(os.path.join(ROOT, 'VERSION')).strip()


def run(words, **options):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          text=True, errors='replace', **options)


def said(*words):
    """What a command prints, whether it succeeds or not; nothing where it is missing."""
    return run(words).stdout if shutil.which(words[0]) else ''


def python_metadata():
    """What pip shows of the Python package."""
    return '\n'.join([
        'Metadata-Version: 2.1', 'Name: inferogram', f'Version: {version()}',
        'Summary: Profile ML inference in unmodified Linux programs, and find what to fix',
        'License: Apache-2.0', 'License-File: LICENSE', 'Requires-Python: >=3.9',
        'Classifier: License :: OSI Approved :: Apache Software License',
        'Classifier: Operating System :: POSIX :: Linux', 'Classifier: Topic :: Software Development :: Debuggers',
        'Description-Content-Type: text/markdown', '', read(os.path.join(ROOT, 'packaging', 'wheel.md'))])


def python_entry_points(with_command):
    """The plugin that pytest loads by itself, and the command, where it is the Python package that brings it."""
    entry = 'inferogram._command:main'
    command = ['[console_scripts]', f'inferogram = {entry}', f'ifg = {entry}', ''] if with_command else []
    return '\n'.join(command + ['[pytest11]', 'inferogram = inferogram.pytest_plugin', ''])


def output(*words, **options):
    """What a command prints; its failure is ours."""
    if not shutil.which(words[0]):
        raise Failed(f'{words[0]} is missing; see packaging/build-deps.txt')
    done = run(words, **options)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()[-1]
        raise Failed(f'{os.path.basename(words[0])}: {message[:300]}')
    return done.stdout


def time_of_sources():
    """The time that everything in a package has: of the commit, or of the file VERSION where there is none."""
    given = os.environ.get('SOURCE_DATE_EPOCH')
    if given:
        return int(given)
    try:
        return int(output('git', '-C', ROOT, 'log', '-1', '--format=%ct'))
    except (Failed, ValueError):
        return int(os.stat(os.path.join(ROOT, 'VERSION')).st_mtime)


def files_below(folder):
    """Files and links, sorted, as paths from the folder."""
    found = []
    for where, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names + links]
    return sorted(found)


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, 'rb') as file:
        return file.read(4) == b'\x7fELF'


def machine_of(path):
    """For which processor a program or library is, as `uname -m` names it."""
    with open(path, 'rb') as file:
        header = file.read(20)
    number = int.from_bytes(header[18:20], 'little')
    if number not in MACHINES:
        raise Failed(f'{path}: for an unknown processor ({number})')
    return MACHINES[number]


def machine_of_tree(folder):
    machines = {machine_of(os.path.join(folder, name)) for name in elf_files(folder)}
    if len(machines) != 1:
        raise Failed(f'{folder}: programs for {" and ".join(sorted(machines)) or "no processor"}')
    return machines.pop()


def binutils(tool, path):
    """What this system calls the strip or objdump for a file's processor."""
    machine = machine_of(path)
    return tool if machine == os.uname().machine else f'{machine}-linux-gnu-{tool}'


def elf_files(folder):
    return [name for name in files_below(folder) if is_elf(os.path.join(folder, name))]


def glibc_of(path):
    """The newest version of glibc that a file asks for, as (2, 17)."""
    asked = output(binutils('objdump', path), '-p', path).partition('Version References:')[2]
    return max(((int(found[0]), int(found[1])) for found in re.findall(r' GLIBC_(\d+)\.(\d+)', asked)), default=(0, 0))


def symbols_of(path, version):
    """Which symbols of that version of glibc a file asks for."""
    name = re.escape('GLIBC_' + dotted(version))
    return sorted(re.findall(rf'\*UND\*.*[( ]{name}(?:\.\d+)?\)?\s+(\S+)$', output(binutils('objdump', path), '-T', path), re.MULTILINE))


def in_watched_programs(name):
    """Whether a file of the tree lives in foreign programs: the hooks, and the libraries that programs link."""
    return bool(re.search(r'(^|/)(hooks/.*\.so|lib[^/]*/([^/]*/)?libinferogram(-handles)?\.so)', name))


def floor(folder):
    """(of all, of what lives in foreign programs), each the oldest glibc that it runs with."""
    everything, foreign = (0, 0), (0, 0)
    for name in elf_files(folder):
        needs = glibc_of(os.path.join(folder, name))
        everything = max(everything, needs)
        if in_watched_programs(name):
            foreign = max(foreign, needs)
    return everything, foreign


def dotted(number):
    return '.'.join(str(part) for part in number)


def targets_installed(build):
    """What `meson install` will copy: without the tests and benchmarks that the default target builds."""
    with open(os.path.join(build, 'meson-info', 'intro-targets.json'), encoding='utf-8') as file:
        targets = json.load(file)
    base = os.path.realpath(build)
    return [os.path.relpath(name, base) for target in targets if target['installed'] for name in target['filename']]


def install(build, folder, as_built=False):
    """`meson install` below folder; returns the prefix in it and the options of the build."""
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        raise Failed(f'{build} is not a build directory (meson setup {build})')
    if not os.path.exists(os.path.join(ROOT, 'ui', 'dist', 'index.html')):
        raise Failed('the page is not built, and would be missing in the package: make ui')
    if not as_built:
        output('ninja', '-C', build, *targets_installed(build))
    output('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', os.path.abspath(folder))
    with open(os.path.join(build, 'meson-info', 'intro-buildoptions.json'), encoding='utf-8') as file:
        options = {option['name']: option['value'] for option in json.load(file)}
    return os.path.join(folder, options['prefix'].lstrip('/')), options


def needed_by(path):
    """Names of the libraries that a file asks for."""
    return re.findall(r'(?m)^\s+NEEDED\s+(\S+)$', output(binutils('objdump', path), '-p', path))


def strip_file(path):
    output(binutils('strip', path), '--strip-unneeded', path)


def strip(folder):
    for name in elf_files(folder):
        strip_file(os.path.join(folder, name))


def megabytes(count):
    return f'{count / 1e6:.1f} MB'


def size_of(folder):
    return sum(os.lstat(os.path.join(folder, name)).st_size for name in files_below(folder)
               if not os.path.islink(os.path.join(folder, name)))
