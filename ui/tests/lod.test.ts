// SPDX-License-Identifier: Apache-2.0
// The level of detail of a mailed report against the straightforward computation.
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketValues, gridOf, Rows, type Items } from '../src/api/lod.ts';
import { MERGED } from '../src/api/types.ts';

let seed = 7;
const random = (): number => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed / 2147483648);

function make(rows: number, perRow: number): { items: Items; orders: Uint32Array[] } {
  const total = rows * perRow;
  const items: Items = { start: new Float64Array(total), duration: new Float64Array(total), location: new Uint32Array(total), count: null, id: null, flags: null };
  const orders: Uint32Array[] = [];
  for (let row = 0, at = 0; row < rows; row++) {
    const order = new Uint32Array(perRow);
    let time = 0;
    for (let i = 0; i < perRow; i++, at++) {
      time += Math.floor(random() ** 4 * 5000);
      items.start[at] = time;
      items.duration[at] = Math.floor(random() < 0.01 ? random() * 200000 : random() ** 6 * 4000);
      items.location[at] = Math.floor(random() * 9);
      time += items.duration[at]!;
      order[i] = at;
    }
    orders.push(order);
  }
  return { items, orders };
}

/** Walks over every item, as slowly as can be. */
function plain({ items, orders }: { items: Items; orders: Uint32Array[] }, from: number, to: number, px: number) {
  const least = Math.max(1, Math.ceil(((to - from) / px) * 3));
  const grid = gridOf(((to - from) / px) * 3);
  const out: { row: number; start: number; end: number; count: number; id: number }[] = [];
  orders.forEach((order, row) => {
    let open: (typeof out)[number] | null = null;
    let line = 0;
    for (const id of order) {
      const start = items.start[id]!;
      const duration = items.duration[id]!;
      const end = start + duration;
      if (start >= to || (start < from && end <= from)) continue;
      if (duration >= least || !open || start >= line) {
        open = { row, start, end, count: 1, id };
        out.push(open);
        line = (Math.floor(start / grid) + 1) * grid;
        if (duration >= least) open = null;
        continue;
      }
      open.count++;
      open.end = end;
      if (duration > items.duration[open.id]!) open.id = id;
    }
  });
  return out;
}

test('every view is what a walk over all items gives', () => {
  const made = make(5, 3000);
  const rows = new Rows(made.items, made.orders);
  const length = Math.max(...made.items.start) + 1;
  for (let i = 0; i < 200; i++) {
    const from = Math.floor(random() * length);
    const to = from + Math.max(1, Math.floor(random() ** 5 * length));
    const px = 1 + Math.floor(random() * 2000);
    const got = rows.query(from, to, px);
    const want = plain(made, from, to, px);
    assert.equal(got.count, want.length);
    for (let k = 0; k < want.length; k++) {
      const one = want[k]!;
      assert.deepEqual({ row: got.row[k], start: got.start[k], count: got.merged[k], merged: (got.flags[k]! & MERGED) !== 0 }, { row: one.row, start: one.start, count: one.count, merged: one.count > 1 });
      assert.ok(Math.abs(got.duration[k]! - (one.end - one.start)) <= (one.end - one.start) * 1e-6 + 1e-6);
      assert.equal(made.items.duration[got.id[k]!], made.items.duration[one.id], 'the longest names a merged one');
    }
  }
});

test('no more items than pixels allow, however many there are', () => {
  const made = make(2, 50000);
  const rows = new Rows(made.items, made.orders);
  const length = Math.max(...made.items.start);
  const got = rows.query(0, length, 300);
  const long = made.items.duration.filter((duration) => duration >= (length / 300) * 3).length;
  assert.ok(got.count <= 2 * (100 + 1) + 2 * long + 2, `${got.count} items, ${long} long ones`);
  let sum = 0;
  for (const count of got.merged) sum += count;
  assert.equal(sum, rows.orders[0]!.length + rows.orders[1]!.length - [...made.items.start].filter((start) => start >= length).length);
});

test('a grid is at least what was asked for, and at most a 32nd more', () => {
  for (let i = 0; i < 1000; i++) {
    const least = 1 + random() ** 3 * 1e12;
    assert.ok(gridOf(least) >= least && gridOf(least) <= least * 1.04 + 1);
  }
  assert.equal(gridOf(0), 1);
});

test('values of a counter keep their extremes', () => {
  const time = Float64Array.from({ length: 10000 }, (_, i) => i * 10);
  const value = Float32Array.from({ length: 10000 }, () => random());
  value[5001] = 99;
  value[7003] = -5;
  const got = bucketValues(time, value, 0, 100000, 100);
  assert.ok(got.count <= 102);
  assert.equal(Math.max(...got.max), 99);
  assert.equal(Math.min(...got.min), -5);
  const few = bucketValues(time, value, 50000, 50020, 1000);
  assert.deepEqual([...few.time], [49990, 50000, 50010, 50020]);
});
