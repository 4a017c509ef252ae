# SPDX-License-Identifier: Apache-2.0
"""The files of the tree, as git sees them or, outside git, as they lie there."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SKIPPED = ('.git', '__pycache__', 'node_modules')


def from_git(root):
    """Tracked files and untracked ones that are not ignored; None when root is not a git tree."""
    if not os.path.exists(os.path.join(root, '.git')):
        return None
    try:
        done = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard', '-z'],
                              capture_output=True, check=False)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b'\0') if name]


def from_walk(root):
    paths = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED
                      and not (folder == root and f.startswith('build'))]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return paths


def listed(root):
    """Sorted paths relative to root, of plain files only."""
    paths = from_git(root)
    if paths is None:
        paths = from_walk(root)
    return sorted(path for path in set(paths)
                  if os.path.isfile(os.path.join(root, path))
                  and not os.path.islink(os.path.join(root, path)))


def read(root, path):
    """The text of a file; empty for binary ones."""
    with open(os.path.join(root, path), 'rb') as file:
        data = file.read()
    if b'\0' in data[:65536]:
        return ''
    return data.decode('utf-8', errors='replace')
