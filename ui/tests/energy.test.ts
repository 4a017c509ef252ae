// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnergyUse, Report } from '../src/api/report.ts';
import { energyLines, joules } from '../src/data/energy.ts';

const use = (change: Partial<EnergyUse> = {}): EnergyUse => ({ device: 'gpu 0', joules_per_inference: 1.93, low_j: 1.87, high_j: 2.01, inferences: 500, seconds: 6, shared: false, upper_bound: false, reason: '', ...change });
const report = (...uses: EnergyUse[]): Report =>
  ({ models: [{ name: 'det', energy: uses }, { name: 'old' }], machine: { energy: [{ device: 'gpu 0', idle: 'measured', idle_w: 75.31 }] } }) as unknown as Report;

test('joules have the unit that fits', () => {
  assert.equal(joules(12.345), '12.3 J');
  assert.equal(joules(0.0124), '12.4 mJ');
  assert.equal(joules(0.25), '250 mJ');
  assert.equal(joules(0.0000021), '2.10 µJ');
});

test('a line for each model and device, with bounds and idle power', () => {
  assert.deepEqual(energyLines(report(use())), [{ model: 'det', device: 'GPU 0', words: '1.93 J per inference, 1.87 J to 2.01 J, above idle power (75.3 W, measured before the program started)' }]);
  assert.ok(/^≤ 1\.93 J .*; divided by time among models; other programs were on the device$/.test(energyLines(report(use({ upper_bound: true, shared: true })))[0]!.words));
});

test('what is not known has its reason, and an old report has no line', () => {
  assert.equal(energyLines(report(use({ joules_per_inference: null, low_j: null, high_j: null, reason: 'MIG is on' })))[0]!.words, 'n/a: MIG is on');
  assert.deepEqual(energyLines(report()), []);
});
