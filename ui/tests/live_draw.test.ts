// SPDX-License-Identifier: Apache-2.0
// Axes and places of the live page's graphs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barAt, heightOf, linearAxis, logAxis } from '../src/draw/bars.ts';
import { sumScale } from '../src/draw/sums.ts';
import { minutes } from '../src/views/live/words.ts';

test('a linear axis has round marks, and the unit at the highest', () => {
  assert.deepEqual(linearAxis(61.8e6).marks.map((mark) => mark.text), ['20', '40', '60\u2009ms']);
  assert.deepEqual(linearAxis(900).marks.map((mark) => mark.text), ['0.5', '1\u2009µs']);
  assert.equal(heightOf(linearAxis(50e6), 0), 0);
  assert.equal(heightOf(linearAxis(50e6), 1e12), 1);
  assert.ok(linearAxis(0).high > 0);
});

test('a logarithmic axis: ten times is the same step everywhere; an engine build and a cached load are both on it', () => {
  const axis = logAxis(236e6, 14.6e9);
  assert.deepEqual(axis.marks.map((mark) => mark.text), ['10\u2009ms', '100', '1\u2009s', '10\u2009s']);
  const steps = [heightOf(axis, 100e6) - heightOf(axis, 10e6), heightOf(axis, 1e9) - heightOf(axis, 100e6)];
  assert.ok(Math.abs(steps[0]! - steps[1]!) < 1e-9);
  assert.ok(heightOf(logAxis(40e3, 60e9), 40e3) > 0);
  assert.ok(heightOf(logAxis(40e3, 60e9), 60e9) < 1);
  assert.equal(logAxis(Infinity, 0).low, 7);
});

test('places: left of the first bar and right of the last there is none', () => {
  assert.equal(barAt(10, 966, 90), -1);
  assert.equal(barAt(53, 966, 90), 0);
  assert.equal(barAt(951, 966, 90), 89);
  assert.equal(barAt(960, 966, 90), -1);
});

test('the strip: one long load does not flatten the rest', () => {
  assert.equal(sumScale([0, 0]), 1e9);
  assert.equal(sumScale([0.6e9, 0.7e9, 0.65e9]), 0.7e9);
  assert.equal(sumScale([0.6e9, 0.6e9, 0.6e9, 60e9]), 2.4e9);
});

test('seconds as people say them', () => {
  assert.deepEqual([0, 86, 3723, -1].map(minutes), ['0:00', '1:26', '1:02:03', '−0:01']);
});
