// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { CATEGORIES, type Events, type Report, type ReportModel } from '../src/api/report.ts';
import type { Meta } from '../src/api/types.ts';
import { instrumentLines, leftOut, requestParts, sentence, startParts, subline } from '../src/data/summary.ts';
import { placementMark } from '../src/views/operators/operators.tsx';

const events = (change: Partial<Events> = {}): Events => ({ count: 0, first_ms: null, min_ms: null, median_ms: null, p90_ms: null, p99_ms: null, max_ms: null, total_ms: 0, share: 0, failed: 0, unfinished: 0, perturbed: { count: 0, included: false, total_ms: 0, cost: null }, ...change });

function model(change: Partial<Record<(typeof CATEGORIES)[number], Partial<Events>>> = {}): ReportModel {
  const all = Object.fromEntries(CATEGORIES.map((category) => [category, events(change[category])])) as ReportModel['functions'][number]['events'];
  return {
    name: 'det', path: '', content_id: '', runtime: 'ONNX Runtime', pid: 1, inferred: '', file_bytes: 1, options: '', specialization: 'cold', loads: {},
    placement: { requested: [], actual: [], nodes: {}, source: '', policy: '' },
    functions: [{ name: 'main', events: all, request: { count: 0, before_ms: null, inference_ms: null, after_ms: null } }],
    operators: [], profiling: { inferences: 0, operators: 0, median_us: null, resolution_us: null },
  };
}

function report(change: Partial<Report> = {}): Report {
  return {
    program: 'p', host: { cpu: '', cpus: 2, virtual: false, load_average: null }, duration_s: 10, summary: [], models: [], pipeline: { requests: 0, stages: [] }, findings: [], drops: 0, losses: [],
    overhead: { recorder_cpu_s: null, recorder_cpu_share: null, operator_cost: null, operator_added_ms: null }, instruments: [], ...change,
  };
}

const meta = (change: Partial<Meta> = {}): Meta => ({ runtimes: ['ONNX Runtime 1.30.0'], zones: 5, models: [{ id: 0, name: 'det', path: '', runtime: '', process: 0 }], has: { samples: false, states: false, wakers: false, ops: false, memory: false, counters: false }, ...change }) as Meta;

test('from start to first answer: the parts are the whole', () => {
  const parts = startParts(model({ load: { count: 1, first_ms: 302 }, specialization: { count: 1, first_ms: 236 }, inference: { count: 5, first_ms: 61.8 } }), { start: 410.8e6, duration: 61.8e6 });
  assert.deepEqual(parts.map((part) => [part.name, Math.round(part.ms * 10) / 10]), [['Program', 108.8], ['Load', 66], ['Specialization', 236], ['First inference', 61.8]]);
  assert.ok(Math.abs(parts.reduce((sum, part) => sum + part.ms, 0) - 472.6) < 1e-6);
});

test('no start where it is not known', () => {
  assert.deepEqual(startParts(undefined, null), []);
  assert.deepEqual(startParts(model({ inference: { count: 5 } }), { start: 1e6, duration: 1e6 }), []);
  assert.deepEqual(startParts(model({ load: { count: 1, first_ms: 302 } }), { start: 1e6, duration: 1e6 }), []); // attached: it had been loaded before
});

test('one request from stages, else from what is around an inference', () => {
  assert.deepEqual(requestParts(report({ pipeline: { requests: 3, stages: [{ name: 'decode', count: 3, mean_ms: 2, total_ms: 6 }] } })).parts, [{ name: 'decode', ms: 2, inference: false }]);
  const one = model();
  one.functions[0]!.request = { count: 9, before_ms: 6.1, inference_ms: 22.5, after_ms: 4.2 };
  assert.deepEqual(requestParts(report({ models: [one] })).parts.map((part) => part.ms), [6.1, 22.5, 4.2]);
  assert.deepEqual(requestParts(report()).parts, []);
});

test('what stands below the sentence', () => {
  const one = model({ inference: { count: 1904, unfinished: 1, perturbed: { count: 952, included: false, total_ms: 0, cost: 0.1 } } });
  assert.equal(subline(report({ models: [one], pipeline: { requests: 300, stages: [] } }), meta()), 'ONNX Runtime 1.30.0 · 1 model · 2,856 inferences finished, 1 open · 30 requests/s');
  assert.equal(leftOut(report({ models: [one] })), 952);
  assert.ok(/no model found$/.test(subline(report(), meta())));
});

test('the same finding of two models is said once', () => {
  const finding = (id: string, title: string) => ({ id, severity: 'high' as const, model: 'm', title, evidence: { text: '', events: [], event_count: 0, numbers: {} }, fix: '' });
  const text = sentence(report({ models: [model({ inference: { count: 20, median_ms: 5, p90_ms: 5.5, total_ms: 100 } })], findings: [finding('wait', 'it waits 3 ms'), finding('wait', 'it waits 4 ms'), finding('spin', 'it spins')] }));
  assert.equal(text.replaceAll('\u2009', ' '), 'Steady at 5.00 ms, but it waits 3 ms, and it spins.');
});

test('instruments: on, partly, off and why, each once', () => {
  const lines = instrumentLines([{ name: 'samples', state: 'on', reason: '251 Hz' }, { name: 'memory', state: 'unavailable', reason: 'no rights' }, { name: 'zones', state: 'on', reason: '' }], meta({ has: { ...meta().has, states: true } }), null);
  const of = (name: string) => lines.filter((line) => line.name === name);
  assert.deepEqual(of('Sampling'), [{ name: 'Sampling', mark: '●', word: 'on', words: '251 Hz' }]);
  assert.deepEqual(of('Memory'), [{ name: 'Memory', mark: '○', word: 'off', words: 'no rights' }]);
  assert.equal(of('Zones')[0]!.words, '5 events');
  assert.equal(of('Operators')[0]!.words, 'off: add --ops');
  assert.equal(of('Scheduling')[0]!.mark, '◐');
});

test('where a node ran, where others of its type ran, where none did', () => {
  const types = [{ type: 'Conv', provider: { CPU: 1, CUDA: 61 } }, { type: 'Resize', provider: { CPU: 4, QNN: 1 } }];
  const marks = ['CPU', 'CUDA', 'QNN'].map((provider) => placementMark({ type: 'Conv', provider: 'CPU' }, provider, types));
  assert.deepEqual(marks.map((one) => one.mark), ['●', '◐', '○']);
  assert.ok(marks[1]!.words.includes('61 other Conv ran on CUDA'));
  assert.ok(marks[2]!.words.includes('no Conv ran on QNN'));
});
