#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Relative links in the documents lead to files and headings that exist, and README.md tells how to begin.
. "$TAP_SH"

check() {
    python3 - "$SOURCE_DIR" <<'PYTHON'
import glob, os, re, sys

root = sys.argv[1]
patterns = ['*.md', 'docs/**/*.md', 'src/*/README.md']
files = sorted(set(sum((glob.glob(os.path.join(root, p), recursive=True) for p in patterns), [])))
bad = 0


def text_of(path):
    """The document without code, in which brackets mean something else."""
    text = re.sub(r'^```.*?^```', '', open(path, encoding='utf-8').read(), flags=re.M | re.S)
    return text


def anchors(path):
    found = set()
    for title in re.findall(r'^#+\s+(.*?)\s*$', open(path, encoding='utf-8').read(), flags=re.M):
        slug = re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
        found.add(slug)
    return found


for path in files:
    for target in re.findall(r'\]\(([^)\s]+)\)', text_of(path)):
        if re.match(r'[a-z]+:', target):
            continue
        name, _, anchor = target.partition('#')
        goal = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(goal):
            why = 'there is no such file'
        elif anchor and goal.endswith('.md') and anchor not in anchors(goal):
            why = 'there is no such heading'
        else:
            continue
        print(f'{os.path.relpath(path, root)}: {target}: {why}')
        bad = 1
sys.exit(bad)
PYTHON
}

if command -v python3 >/dev/null 2>&1; then
    ok "relative links resolve" check
else
    skip "relative links resolve" "tools: python3 is not installed"
fi
ok "README.md has make demo" grep -q 'make demo' "$SOURCE_DIR/README.md"
ok "README.md has make test" grep -q 'make test' "$SOURCE_DIR/README.md"

done_testing
