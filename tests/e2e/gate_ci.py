#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a composite action of GitHub or a job of GitLab here, as the runner there would.

usage: gate_ci.py action FILE --directory DIR --temporary DIR [--set INPUT=VALUE...] [--env KEY=VALUE...]
       gate_ci.py gitlab FILE --directory DIR [--set VARIABLE=VALUE...] [--env KEY=VALUE...]

Prints a line for each step of an action, and the outputs of it; the exit status is that of the step that failed, or
of the job. What a job may fail with is told."""

import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from gate_workflow import Lines, parse  # noqa: E402


def expanded(text, values):
    def value(match):
        if match.group(1) not in values:
            raise SystemExit(f'{match.group(0)}: not known')
        return values[match.group(1)]
    return re.sub(r'\$\{\{ *([\w.]+) *\}\}', value, text)


def is_wanted(condition, values):
    match = re.fullmatch(r"([\w.]+) != ''", condition)
    if not match:
        raise SystemExit(f'if: {condition}: not understood')
    return values[match.group(1)] != ''


def read_outputs(path):
    with open(path, encoding='utf-8') as file:
        return dict(line.rstrip('\n').split('=', 1) for line in file)


def run_action(document, options):
    """Steps of `runs`, each in a shell of its own; GITHUB_PATH and GITHUB_OUTPUT go from one to the next."""
    values = {f'inputs.{name}': spec.get('default', '') for name, spec in document['inputs'].items()}
    for pair in options.set:
        name, value = pair.split('=', 1)
        if f'inputs.{name}' not in values:
            raise SystemExit(f'no input {name}')
        values[f'inputs.{name}'] = value
    if document['runs']['using'] != 'composite':
        raise SystemExit('not a composite action')
    environment = {**os.environ, 'GITHUB_ACTIONS': 'true', 'CI': 'true', 'RUNNER_TEMP': options.temporary}
    environment.update(pair.split('=', 1) for pair in options.env)
    for name in ('GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY'):
        environment[name] = os.path.join(options.temporary, name)
        open(environment[name], 'w', encoding='utf-8').close()
    status = 0
    for step in document['runs']['steps']:
        if 'shell' not in step:
            raise SystemExit(f'{step["name"]}: a composite action has to name the shell')
        if status or ('if' in step and not is_wanted(step['if'], values)):
            print(f'skipped: {step["name"]}', flush=True)
            continue
        own = {key: expanded(value, values) for key, value in step.get('env', {}).items()}
        with open(environment['GITHUB_PATH'], encoding='utf-8') as file:
            folders = file.read().split('\n')[:-1]
        path = ':'.join(folders[::-1] + [environment['PATH']])
        print(f'running: {step["name"]}', flush=True)
        status = subprocess.run([step['shell'], '--noprofile', '--norc', '-eo', 'pipefail', '-c', step['run']],
                                cwd=options.directory, env={**environment, **own, 'PATH': path},
                                stdin=subprocess.DEVNULL, check=False).returncode
        print(f'{"passed" if status == 0 else f"failed with {status}"}: {step["name"]}', flush=True)
        if 'id' in step:
            outputs = read_outputs(environment['GITHUB_OUTPUT'])
            values.update({f'steps.{step["id"]}.outputs.{key}': value for key, value in outputs.items()})
    for name, spec in document['outputs'].items():
        print(f'output {name}: {expanded(spec["value"], values)}')
    return status


def run_job(document, options):
    """before_script and script are one script there, too."""
    (name, job), = document.items()
    environment = {**os.environ, **job['variables'], 'CI': 'true', 'GITLAB_CI': 'true'}
    environment.update(pair.split('=', 1) for pair in options.env + options.set)
    print(f'running: {name}', flush=True)
    script = '\n'.join(job['before_script'] + job['script'])
    status = subprocess.run(['bash', '-eo', 'pipefail', '-c', script], cwd=options.directory, env=environment,
                            stdin=subprocess.DEVNULL, check=False).returncode
    if str(status) in job['allow_failure']['exit_codes']:
        print('allowed to fail')
    for path in [job['artifacts']['reports']['junit'], *job['artifacts']['paths']]:
        if os.path.exists(os.path.join(options.directory, path)):
            print(f'artifact: {path}')
    return status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('kind', choices=['action', 'gitlab'])
    parser.add_argument('file')
    parser.add_argument('--directory', required=True)
    parser.add_argument('--temporary')
    parser.add_argument('--set', action='append', default=[])
    parser.add_argument('--env', action='append', default=[])
    options = parser.parse_args()
    with open(options.file, encoding='utf-8') as file:
        document = parse(Lines(file.read()), 0)
    return run_action(document, options) if options.kind == 'action' else run_job(document, options)


sys.exit(main())
