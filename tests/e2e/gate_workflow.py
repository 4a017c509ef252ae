#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the `run:` steps of a GitHub workflow here, in order, as the runner there would.

usage: gate_workflow.py WORKFLOW --event NAME --directory DIR [--env KEY=VALUE...]

Reads the part of YAML that such files need: mappings, lists, block texts ("|"), quoted and plain values. Steps with
`uses:` are passed over. After a step that failed only those with `if: always()` run. Prints a line for each step;
the exit status is that of the step that failed."""

import argparse
import os
import re
import subprocess
import sys


class Lines:
    def __init__(self, text):
        self.lines = text.split('\n')
        self.at = 0

    def peek(self):
        """Indentation and content of the next line that has any, or None."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            content = line.strip()
            if content and not content.startswith('#'):
                return len(line) - len(line.lstrip()), content
            self.at += 1
        return None


def scalar(text):
    text = re.sub(r'\s+#.*$', '', text).strip() if not text.startswith(("'", '"')) else text.strip()
    if text[:1] == "'" or text[:1] == '"':
        if len(text) < 2 or text[-1] != text[0]:
            raise SystemExit(f'not understood: {text}')
        return text[1:-1]
    if text.startswith('['):
        return [scalar(part) for part in text[1:-1].split(',')]
    if text.startswith(('{', '&', '*', '>', '!')):
        raise SystemExit(f'not understood: {text}')
    return text


def block_text(lines, outer):
    found = []
    inner = None
    while lines.at < len(lines.lines):
        line = lines.lines[lines.at]
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= outer:
            break
        if line.strip() and inner is None:
            inner = indent
        found.append(line[inner:] if line.strip() else '')
        lines.at += 1
    return '\n'.join(found).rstrip('\n') + '\n'


def value_after(lines, text, indent):
    if text == '|':
        return block_text(lines, indent)
    return scalar(text) if text else parse(lines, indent + 1)


def parse(lines, least):
    """The mapping or list that begins at the next line, if it is indented at least so far."""
    following = lines.peek()
    if following is None or following[0] < least:
        return ''
    indent = following[0]
    result = [] if following[1].startswith('- ') else {}
    while True:
        following = lines.peek()
        if following is None or following[0] < indent:
            return result
        if following[0] > indent:
            raise SystemExit(f'line {lines.at + 1}: indented more than its neighbours')
        content = following[1]
        if isinstance(result, list):
            if not content.startswith('- '):
                return result
            if re.match(r'- [\w-]+:(\s|$)', content):
                # The element is a mapping that begins on this line.
                lines.lines[lines.at] = ' ' * (indent + 2) + content[2:]
                result.append(parse(lines, indent + 2))
            else:
                lines.at += 1
                result.append(scalar(content[2:]))
            continue
        match = re.match(r"([\w-]+|'[^']*'):(?:\s+(.*))?$", content)
        if not match:
            raise SystemExit(f'line {lines.at + 1}: not understood: {content}')
        lines.at += 1
        result[match.group(1)] = value_after(lines, (match.group(2) or '').strip(), indent)


def is_wanted(condition, event, failed):
    if condition == 'always()':
        return True
    match = re.fullmatch(r"github\.event_name == '(\w+)'", condition) if condition else None
    if condition and not match:
        raise SystemExit(f'if: {condition}: not understood')
    return not failed and (not match or match.group(1) == event)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('workflow')
    parser.add_argument('--event', required=True)
    parser.add_argument('--directory', required=True)
    parser.add_argument('--env', action='append', default=[])
    options = parser.parse_args()
    with open(options.workflow, encoding='utf-8') as file:
        text = file.read()
    workflow = parse(Lines(text), 0)
    if options.event not in workflow['on']:
        raise SystemExit(f'the workflow does not start on {options.event}')
    environment = {**os.environ, **workflow.get('env', {})}
    environment.update(pair.split('=', 1) for pair in options.env)
    environment.update(GITHUB_ACTIONS='true', CI='true', GITHUB_EVENT_NAME=options.event, GITHUB_BASE_REF='main',
                       GITHUB_WORKSPACE=options.directory)
    status = 0
    for name, job in workflow['jobs'].items():
        if not job.get('steps') or not job.get('runs-on'):
            raise SystemExit(f'job {name} has no steps, or nothing to run on')
        for number, step in enumerate(job['steps'], 1):
            title = step.get('name', step.get('uses', f'step {number}'))
            if 'uses' in step:
                continue
            if not is_wanted(step.get('if', ''), options.event, status):
                print(f'skipped: {title}', flush=True)
                continue
            print(f'running: {title}', flush=True)
            code = subprocess.run(['bash', '-e', '-c', step['run']], cwd=options.directory, env=environment,
                                  stdin=subprocess.DEVNULL, check=False).returncode
            print(f'{"passed" if code == 0 else f"failed with {code}"}: {title}', flush=True)
            status = status or code
    return status


if __name__ == '__main__':
    sys.exit(main())
