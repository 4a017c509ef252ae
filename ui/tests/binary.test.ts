// SPDX-License-Identifier: Apache-2.0
// Binary answers, as a server writes them, and as a broken one would.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import { readPoints, readSlices, readValues } from '../src/api/binary.ts';

const SLICES = 0x4c474649;
const VALUES = 0x43474649;
const POINTS = 0x50474649;

/** Header and columns [bytes per value, values], each padded to 8 bytes. */
function answer(magic: number, extra: number, columns: [number, number[]][], version = 1): ArrayBuffer {
  const count = columns[0]![1].length;
  const size = 32 + columns.reduce((sum, [bytes]) => sum + Math.ceil((bytes * count) / 8) * 8, 0);
  const buffer = new ArrayBuffer(size);
  const view = new DataView(buffer);
  [magic, version, count, extra].forEach((value, i) => view.setUint32(i * 4, value, true));
  view.setFloat64(16, 100, true);
  view.setFloat64(24, 9000, true);
  let at = 32;
  columns.forEach(([bytes, values], column) => {
    values.forEach((value, i) => {
      if (bytes === 8) view.setFloat64(at + i * 8, value, true);
      else if (bytes === 2) view.setUint16(at + i * 2, value, true);
      else if (bytes === 1) view.setUint8(at + i, value);
      else if (magic === VALUES || column === 1) view.setFloat32(at + i * 4, value, true);
      else view.setUint32(at + i * 4, value, true);
    });
    at += Math.ceil((bytes * count) / 8) * 8;
  });
  return buffer;
}

const slices = (n: number): ArrayBuffer => {
  const up = Array.from({ length: n }, (_, i) => i);
  return answer(SLICES, 3, [[8, up.map((i) => i * 1e12)], [4, up.map((i) => i + 0.5)], [4, up], [4, up.map(() => 1)], [4, up.map((i) => 4e9 + i)], [2, up.map((i) => i % 3)], [1, up.map(() => 2)]]);
};

test('slices: every column, whatever the padding', () => {
  for (const n of [0, 1, 2, 3, 4, 5, 7, 8, 9, 1000]) {
    const read = readSlices(slices(n));
    assert.equal(read.count, n);
    assert.equal(read.rows, 3);
    assert.equal(read.from, 100);
    assert.equal(read.to, 9000);
    for (let i = 0; i < n; i++) {
      assert.equal(read.start[i], i * 1e12);
      assert.equal(read.duration[i], i + 0.5);
      assert.equal(read.location[i], i);
      assert.equal(read.merged[i], 1);
      assert.equal(read.id[i], 4e9 + i);
      assert.equal(read.row[i], i % 3);
      assert.equal(read.flags[i], 2);
    }
  }
});

test('values and points', () => {
  const values = readValues(answer(VALUES, 0, [[8, [1, 2, 3]], [4, [0.5, 1, 1.5]], [4, [2, 2, 2]], [4, [1, 1.5, 2]]]));
  assert.deepEqual([...values.time], [1, 2, 3]);
  assert.deepEqual([...values.min], [0.5, 1, 1.5]);
  assert.deepEqual([...values.max], [2, 2, 2]);
  assert.deepEqual([...values.last], [1, 1.5, 2]);
  const points = readPoints(answer(POINTS, 0, [[8, [5, 6]], [4, [0.25, 0.75]], [4, [7, 4294967295]]]));
  assert.equal(points.length, 9000);
  assert.deepEqual([...points.id], [7, 4294967295]);
  assert.deepEqual([...points.duration], [0.25, 0.75]);
});

test('truncated answer from the server is refused at every length', () => {
  const whole = slices(5);
  for (let size = 0; size < whole.byteLength; size++) assert.throws(() => readSlices(whole.slice(0, size)));
});

test('a count that is larger than what follows', () => {
  for (const count of [6, 1000, 0x7fffffff, 0xffffffff]) {
    const broken = slices(5);
    new DataView(broken).setUint32(8, count, true);
    assert.throws(() => readSlices(broken), /truncated|Invalid|length/);
  }
});

test('another kind of answer, another version', () => {
  assert.throws(() => readValues(slices(1)), /unexpected answer/);
  assert.throws(() => readSlices(answer(POINTS, 0, [[8, [1]], [4, [1]], [4, [1]]])), /unexpected answer/);
  assert.throws(() => readPoints(answer(POINTS, 0, [[8, [1]], [4, [1]], [4, [1]]], 2)), /newer/);
  assert.throws(() => readSlices(new TextEncoder().encode('{"error":"this is a sentence, and no table"}').buffer as ArrayBuffer), /unexpected answer/);
});
