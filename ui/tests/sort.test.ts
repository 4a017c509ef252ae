// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { clicked, compare, sorted } from '../src/base/sort.ts';
import { tableText } from '../src/widgets/table.tsx';

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

test('a copied table: sorted as it is shown, tabs between, numbers with every digit', () => {
  const columns = [
    { id: 'name', title: 'Name', width: '1fr', key: (row: { n: string }) => row.n, cell: () => '' },
    { id: 'bar', title: '', width: '1fr', cell: () => '' },
    { id: 'time', title: 'Time', unit: 'ns', width: '1fr', number: true, key: (row: { t: number | null }) => row.t, cell: () => '' },
  ];
  const rows = [{ n: 'a\tb', t: 1234567 }, { n: 'c', t: null }, { n: 'd', t: 7654321 }];
  assert.equal(tableText(columns, rows, { column: 'time', down: true }), 'Name\tTime (ns)\nd\t7654321\na b\t1234567\nc\t');
});
