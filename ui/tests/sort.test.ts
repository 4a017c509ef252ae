// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { clicked, compare, sorted } from '../src/base/sort.ts';

test('numbers by size, texts by letters', () => {
  assert.deepEqual(sorted([10, 9, 100], (n) => n, false), [9, 10, 100]);
  assert.deepEqual(sorted(['b', 'a', 'c'], (n) => n, true), ['c', 'b', 'a']);
});

test('what is not known is last in both directions', () => {
  const rows = [{ v: null }, { v: 2 }, { v: NaN }, { v: 1 }];
  assert.deepEqual(sorted(rows, (row) => row.v, false).map((row) => row.v), [1, 2, null, NaN]);
  assert.deepEqual(sorted(rows, (row) => row.v, true).map((row) => row.v), [2, 1, null, NaN]);
  assert.equal(compare(null, null, true), 0);
});

test('equal rows keep their order', () => {
  const rows = ['x1', 'x2', 'x3'];
  assert.deepEqual(sorted(rows, () => 5, true), rows);
});

test('a second click turns the order over', () => {
  assert.deepEqual(clicked({ column: 'a', down: true }, 'b', true), { column: 'b', down: true });
  assert.deepEqual(clicked({ column: 'a', down: true }, 'b', false), { column: 'b', down: false });
  assert.deepEqual(clicked({ column: 'b', down: true }, 'b', true), { column: 'b', down: false });
});

test('100,000 rows are sorted at once', () => {
  const rows = Array.from({ length: 100000 }, (_, i) => (i * 7919) % 100003);
  const out = sorted(rows, (n) => n, false);
  assert.equal(out.length, rows.length);
  for (let i = 1; i < out.length; i++) assert.ok(out[i - 1]! <= out[i]!);
});
