// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { bin, position, roundMarks, valueOf } from '../src/draw/histogram.ts';
import { dotAt, dotScale, type DotFrame } from '../src/draw/dots.ts';
import type { Points } from '../src/api/types.ts';

test('every value is in a bin', () => {
  const bins = bin([1, 2, 3, 4, 10], 3, false);
  assert.deepEqual(bins.bins, [3, 1, 1]);
  assert.equal(bins.bins.reduce((a, b) => a + b), 5);
});

test('one value, or none', () => {
  assert.equal(bin([5, 5], 4, true).bins.reduce((a, b) => a + b), 2);
  assert.deepEqual(bin([], 4, true).bins, []);
  assert.equal(position({ from: 5, to: 5, bins: [2], log: false }, 5), 0.5);
});

test('a log axis goes both ways', () => {
  const bins = { from: 10, to: 1000, bins: [], log: true };
  assert.ok(Math.abs(position(bins, 100) - 0.5) < 1e-9);
  assert.ok(Math.abs(valueOf(bins, position(bins, 37)) - 37) < 1e-9);
});

test('marks are round and not too many', () => {
  assert.deepEqual(roundMarks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.ok(roundMarks(13.7e6, 152e6, 6).length <= 7);
  assert.deepEqual(roundMarks(5, 5, 4), []);
});

const points = (durations: number[]): Points => ({ length: 1000, count: durations.length, start: Float64Array.from(durations, (_, i) => i * 10), duration: Float32Array.from(durations), id: Uint32Array.from(durations, (_, i) => i) });

test('one outlier does not flatten the other dots', () => {
  const many = [...Array.from({ length: 999 }, () => 20), 100000];
  assert.ok(dotScale(points(many)).high < 100);
  assert.ok(dotScale(points([20, 21, 60])).high >= 60);
  assert.deepEqual(dotScale(points([])), { low: 0, high: 1 });
});

test('the nearest dot is found', () => {
  const data = points([20, 40]);
  const frame: DotFrame = { view: { from: 0, to: 10 }, scale: { low: 0, high: 40 }, width: 258, height: 124 };
  assert.equal(dotAt(data, frame, 52, 56), 0);
  assert.equal(dotAt(data, frame, 252, 8), 1);
  assert.equal(dotAt(data, frame, 150, 60), -1);
});
