// SPDX-License-Identifier: Apache-2.0
// What drawing works out before it draws: scales, values at a time, which slice is where, flames, dots.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import { niceScale, valueAt } from '../src/draw/counter.ts';
import { dotScale } from '../src/draw/dots.ts';
import { layFlame } from '../src/draw/flame.ts';
import { hash } from '../src/draw/palette.ts';
import { label, sliceAt } from '../src/draw/slices.ts';
import { slices, values } from './fakes.ts';

test('valueAt: the last look at or before a time', () => {
  const some = values([[10, 1], [20, 2], [30, 3]]);
  assert.equal(valueAt(some, 9), null);
  assert.equal(valueAt(some, 10), 1);
  assert.equal(valueAt(some, 29.9), 2);
  assert.equal(valueAt(some, 1e12), 3);
  assert.equal(valueAt(values([]), 5), null);
});

test('niceScale: the natural maximum, or a round number above the highest', () => {
  assert.deepEqual(niceScale(null, 0, 37, 100), { low: 0, high: 100 });
  assert.deepEqual(niceScale(null, 0, 370, null), { low: 0, high: 400 });
  assert.deepEqual(niceScale(values([[0, 812]]), 0, 1, null), { low: 0, high: 1000 });
  assert.deepEqual(niceScale(null, -5, 0, null), { low: -5, high: 1.5 });
  for (const max of [1e-9, 0.3, 1, 99, 1e15]) {
    const { high } = niceScale(null, 0, max, null);
    assert.ok(high >= max && high <= max * 2.1, `${max} ${high}`);
  }
});

test('sliceAt: the row counts, the shortest wins, a hair is enough', () => {
  const some = slices([[0, 0, 1000, 0], [0, 500, 10, 1], [1, 500, 1, 2]]);
  const view = { from: 0, to: 1000 };
  assert.equal(sliceAt(some, view, 1000, 505, 0), 1);
  assert.equal(sliceAt(some, view, 1000, 100, 0), 0);
  assert.equal(sliceAt(some, view, 1000, 501.5, 1), 2);
  assert.equal(sliceAt(some, view, 1000, 600, 1), -1);
  assert.equal(sliceAt(some, view, 1000, 600, 7), -1);
});

test('label: both, then the name, then the time, then its beginning, then nothing', () => {
  const pen = { measureText: (text: string) => ({ width: text.length * 6 }) } as unknown as CanvasRenderingContext2D;
  assert.equal(label(pen, 'Convolution', '12 ms', 200), 'Convolution · 12 ms');
  assert.equal(label(pen, 'Convolution', '12 ms', 70), 'Convolution');
  assert.equal(label(pen, 'Convolution', '12 ms', 40), '12 ms');
  assert.equal(label(pen, 'Convolution', '1234 ms', 30), 'Conv…');
  assert.equal(label(pen, 'Convolution', '1234 ms', 10), '');
  assert.equal(label(pen, 'Convolution', '', 30), 'Conv…', 'a sampled call has no time of its own');
});

test('hash: the same in every trace, well spread', () => {
  assert.equal(hash('Conv'), hash('Conv'));
  const counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < 1000; i++) counts[hash(`node_${i}`) % 5]!++;
  assert.ok(Math.min(...counts) > 100, counts.join(' '));
});

test('layFlame: children side by side inside their parent', () => {
  const node = (p: number, v: number) => ({ p, f: 0, n: '', v, s: 0, i: 0 });
  const layout = layFlame([node(-1, 10), node(0, 6), node(1, 2), node(0, 3), node(-1, 5)]);
  assert.deepEqual([...layout.left], [0, 0, 0, 6, 10]);
  assert.deepEqual([...layout.depth], [0, 1, 2, 1, 0]);
  assert.deepEqual([...layout.subtreeEnd], [4, 3, 3, 4, 5]);
  assert.equal(layout.total, 15);
  assert.equal(layout.deepest, 2);
  assert.equal(layFlame([]).total, 0);
});

test('dotScale: one outlier does not flatten the rest', () => {
  const points = (list: number[]) => ({ length: 1e9, count: list.length, start: new Float64Array(list.length), duration: Float32Array.from(list), id: new Uint32Array(list.length) });
  const usual = Array.from({ length: 200 }, (_, i) => 50 + (i % 5));
  const scale = dotScale(points([...usual, 100000]));
  assert.ok(scale.high < 500, String(scale.high));
  assert.deepEqual(dotScale(points([])), { low: 0, high: 1 });
  const one = dotScale(points([7]));
  assert.ok(one.high > one.low);
});
