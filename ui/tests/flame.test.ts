// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlameNode } from '../src/api/types.ts';
import { flameAt, flameRows, flameStep, layFlame, ROW, type FlameView } from '../src/draw/flame.ts';

const node = (p: number, n: string, v: number, s = 0): FlameNode => ({ p, f: n.charCodeAt(0), n, v, s, i: 0 });
// main(100) = a(60) = c(50) + d(10), b(30); another root e(20)
const NODES = [node(-1, 'main', 100, 10), node(0, 'a', 60), node(1, 'c', 50, 50), node(1, 'd', 10, 10), node(0, 'b', 30, 30), node(-1, 'e', 20, 20)];
const viewOf = (zoomed: number): FlameView => ({ layout: layFlame(NODES), zoomed, chosen: -1, hovered: -1, functionId: -1, found: null, from: 0, width: 120 });

test('boxes lie side by side below their caller', () => {
  const { left, depth, total, deepest, subtreeEnd } = layFlame(NODES);
  assert.deepEqual([...left], [0, 0, 0, 50, 60, 100]);
  assert.deepEqual([...depth], [0, 1, 2, 2, 1, 0]);
  assert.deepEqual([...subtreeEnd], [5, 4, 3, 4, 5, 6]);
  assert.equal(total, 120);
  assert.equal(deepest, 2);
});

test('a point finds its box', () => {
  const view = viewOf(-1);
  assert.equal(flameAt(view, 10, 5), 0);
  assert.equal(flameAt(view, 55, ROW * 2 + 5), 3);
  assert.equal(flameAt(view, 65, ROW + 5), 4);
  assert.equal(flameAt(view, 95, ROW + 5), -1); // main itself
  assert.equal(flameAt(view, 110, 5), 5);
  assert.equal(flameRows(view), 3);
});

test('zoomed in, callers span the width and others are gone', () => {
  const view = viewOf(4);
  assert.equal(flameAt(view, 60, 5), 0);
  assert.equal(flameAt(view, 60, ROW + 5), 4);
  assert.equal(flameAt(view, 60, ROW * 2 + 5), -1);
  assert.equal(flameRows(view), 2);
});

test('keys walk through it', () => {
  const layout = layFlame(NODES);
  assert.equal(flameStep(layout, -1, 'ArrowDown'), 0);
  assert.equal(flameStep(layout, 0, 'ArrowDown'), 1);
  assert.equal(flameStep(layout, 1, 'ArrowRight'), 4);
  assert.equal(flameStep(layout, 4, 'ArrowLeft'), 1);
  assert.equal(flameStep(layout, 3, 'ArrowUp'), 1);
  assert.equal(flameStep(layout, 0, 'ArrowRight'), 5);
  assert.equal(flameStep(layout, 5, 'ArrowLeft'), 0);
  assert.equal(flameStep(layout, 2, 'ArrowDown'), 2);
});

test('nothing is nothing', () => {
  assert.equal(flameStep(layFlame([]), -1, 'ArrowDown'), -1);
  assert.equal(flameRows({ ...viewOf(-1), layout: layFlame([]) }), 1);
});
