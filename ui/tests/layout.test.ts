// SPDX-License-Identifier: Apache-2.0
// Where each track of the timeline is.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import type { Track } from '../src/api/types.ts';
import { COUNTER, STACKED, arrange, commonRows, isOpen, laneAt, layOut, type Choices } from '../src/views/timeline/layout.ts';
import { slices, track } from './fakes.ts';

const choices = (more: Partial<Choices> = {}): Choices => ({ closed: new Set(), opened: new Set(), pinned: new Set(), hidden: new Set(), sampledCalls: new Set(), model: null, ...more });
const noSampledCalls = () => ({ rows: 0, skip: 0 });
const ids = (tracks: Track[], some: Choices = choices()): string => layOut(tracks, some, noSampledCalls).lanes.map((lane) => lane.track.id).join(' ');

const TREE = [
  track('cpu0', { kind: 'counter', stack: 'cpu', scale: 100 }),
  track('cpu1', { kind: 'counter', stack: 'cpu', scale: 100 }),
  track('rss', { kind: 'counter' }),
  track('ml', { kind: 'ml' }),
  track('m0', { kind: 'model', parent: 'ml', model: 0 }),
  track('f0', { kind: 'function', parent: 'm0', model: 0 }),
  track('m1', { kind: 'model', parent: 'ml', model: 1 }),
  track('p0', { kind: 'process', rows: 0 }),
  track('t0', { parent: 'p0', rows: 4 }),
];

test('layout: in the order they come, children under their parents, cores as one', () => {
  assert.equal(ids(TREE), 'cpu0 rss ml m0 f0 m1 p0 t0');
  const { lanes, height } = layOut(TREE, choices(), noSampledCalls);
  assert.deepEqual(lanes.map((lane) => lane.indent), [0, 0, 0, 1, 2, 1, 0, 1]);
  assert.equal(lanes[0]!.members.length, 2);
  assert.equal(lanes[0]!.height, STACKED);
  assert.equal(lanes[1]!.height, COUNTER);
  let top = 0;
  for (const lane of lanes) {
    assert.equal(lane.top, top);
    top += lane.height;
  }
  assert.equal(height, top);
});

test('layout: closing, hiding, pinning, one model', () => {
  assert.equal(ids(TREE, choices({ closed: new Set(['ml', 'p0']) })), 'cpu0 rss ml p0');
  assert.equal(ids(TREE, choices({ hidden: new Set(['m0', 'cpu0']) })), 'cpu1 rss ml m1 p0 t0');
  assert.equal(ids(TREE, choices({ pinned: new Set(['t0']) })), 't0 cpu0 rss ml m0 f0 m1 p0');
  assert.equal(ids(TREE, choices({ model: 1 })), 'cpu0 rss ml m1 p0 t0');
});

test('layout: what is closed at first opens, and a closed thread shows one row', () => {
  const closed = [track('t0', { rows: 5, open: false })];
  assert.equal(layOut(closed, choices(), noSampledCalls).lanes[0]!.rows, 1);
  assert.equal(layOut(closed, choices({ opened: new Set(['t0']) }), noSampledCalls).lanes[0]!.rows, 5);
  assert.equal(isOpen(closed[0]!, choices()), false);
  assert.equal(isOpen(closed[0]!, choices({ opened: new Set(['t0']) })), true);
});

test('layout: sampled calls and states have room of their own', () => {
  const thread = [track('t0', { rows: 2, states: true, samples: 9 })];
  const plain = layOut(thread, choices(), () => ({ rows: 6, skip: 2 })).lanes[0]!;
  const sampledCalls = layOut(thread, choices({ sampledCalls: new Set(['t0']) }), () => ({ rows: 6, skip: 2 })).lanes[0]!;
  assert.ok(plain.sampledCallTop < 0 && plain.stateTop === 0);
  assert.ok(sampledCalls.sampledCallTop >= sampledCalls.sliceTop + 2 * 16 && sampledCalls.sampledCallRows === 6 && sampledCalls.sampledCallSkip === 2);
  assert.ok(sampledCalls.height > plain.height + 6 * 12);
});

test('layout: a track whose parent is unknown is not lost, and no track ends in nothing', () => {
  assert.equal(ids([track('x', { parent: 'gone' })]), 'x');
  assert.deepEqual(layOut([], choices(), noSampledCalls), { lanes: [], height: 0 });
});

test('laneAt: which track is at this height', () => {
  const layout = layOut(TREE, choices(), noSampledCalls);
  for (const lane of layout.lanes) {
    assert.equal(laneAt(layout, lane.top), lane);
    assert.equal(laneAt(layout, lane.top + lane.height - 0.5), lane);
  }
  assert.equal(laneAt(layout, -1), null);
  assert.equal(laneAt(layout, layout.height), null);
});

test('arrange: rarely read resources go into a folder, others stay in order', () => {
  const arranged = arrange([track('a', { kind: 'counter' }), track('b', { kind: 'counter', open: false }), track('t', {})]);
  assert.deepEqual(arranged.map((one) => one.id), ['a', 'more-resources', 'b', 't']);
  assert.equal(arranged[2]!.parent, 'more-resources');
  assert.deepEqual(arrange([track('t')]).map((one) => one.id), ['t']);
});

test('commonRows: frames that are the same all the time', () => {
  assert.equal(commonRows(slices([[0, 0, 100, 1], [1, 0, 90, 2], [2, 0, 30, 3], [2, 30, 60, 4]])), 2);
  assert.equal(commonRows(slices([])), 0);
  assert.equal(commonRows(slices([[0, 0, 50, 1], [0, 50, 50, 2]])), 0);
});
