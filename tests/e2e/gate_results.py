#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results as `inferogram bench --json` writes them, by hand, with known numbers.

usage: gate_results.py FILE [KEY=VALUE...]

KEY: median (ms), processes, blocks, per_block, trust (OK, WARN, BAD), steady (0, 1), cpu, when, seed,
model, name. The samples are within 1 % of the median."""

import json
import random
import sys

options = {'median': 10.0, 'processes': 5, 'blocks': 6, 'per_block': 10, 'trust': 'OK', 'steady': 1,
           'cpu': 'Some CPU', 'when': '2026-10-01T12:00:00Z', 'seed': 1, 'model': 'det.onnx', 'name': 'CPU'}
for word in sys.argv[2:]:
    key, value = word.split('=', 1)
    options[key] = type(options[key])(value)
generator = random.Random(options['seed'])
samples, blocks, processes = [], [], []
for process in range(options['processes']):
    for _ in range(options['blocks']):
        block = [options['median'] * (1 + 0.01 * generator.uniform(-1, 1)) for _ in range(options['per_block'])]
        blocks.append({'process': process, 'first': len(samples), 'count': len(block), 'wall_ms': sum(block),
                       'reference_ms': 1.0, 'disturbed': False})
        samples += block
    processes.append({'start_ms': 5, 'load_ms': 100 + process, 'specialization_ms': None, 'first_ms': 30,
                      'warmup': 10, 'warmup_mean_ms': 11, 'steady': bool(options['steady']), 'steady_after': 5,
                      'before_bytes': 10000000, 'after_load_bytes': 80000000, 'after_runs_bytes': 90000000,
                      'peak_bytes': 100000000 + 1000000 * process})
ordered = sorted(samples)
document = {
    'schema': 1, 'kind': 'bench', 'when': options['when'], 'interrupted': False,
    'model': {'path': options['model'], 'name': options['model'], 'hash': 'aa', 'bytes': 4500000,
              'parameters': 1100000, 'precision': 'float32', 'opsets': 'ai.onnx 11'},
    'runtime': {'name': 'ONNX Runtime', 'version': '1.30.0', 'library': 'libonnxruntime.so', 'from': ''},
    'inputs': 'x', 'inputs_shape': 'x:float32:1x3x8x8',
    'options': {'command_line': '', 'iterations': 100, 'processes': options['processes'], 'seed': 1,
                'scenario': 'single', 'batch': 1, 'threads': 0},
    'host': {'name': 'h', 'cpu': options['cpu'], 'cpus': 2}, 'percentile_rule': 'linear',
    'name': options['name'], 'settings': '', 'available': True, 'reason': '', 'crashed': False,
    'p50_ms': ordered[len(ordered) // 2], 'load_ms': 102,
    'trust': {'level': options['trust'],
              'lines': [{'name': 'steal', 'level': options['trust'], 'value': 9, 'unit': '%', 'text': '9 %'}]},
    'processes': processes, 'blocks': blocks, 'raw_samples_ms': samples,
}
with open(sys.argv[1], 'w', encoding='utf-8') as out:
    json.dump(document, out)
