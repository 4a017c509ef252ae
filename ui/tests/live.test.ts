// SPDX-License-Identifier: Apache-2.0
// What the live page knows and shows: against numbers that were worked out by hand, and for longer than anything is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveMessage, LiveOpen } from '../src/api/live.ts';
import { COUNT, INFERENCE, LAST, LOAD, Live, MAX, ROWS_KEPT, SECONDS_KEPT, SETUP, SPECIALIZATION, SUM, Seconds, apply, modelName } from '../src/data/live.ts';
import { WINDOW, barsOf, clampEdge, innermostOpen, isPicked, listed, litSeconds, newestSecond, position, resourcesOf, slowest, sumsOf } from '../src/data/live_pick.ts';

const FIRST = 250e6;
const S = 1e9;

function message(more: Partial<LiveMessage>): LiveMessage {
  return { schema: 1, seq: 0, full: false, generation: 0, state: 'live', why: '', now: FIRST, first: FIRST, totals: { events: 0, rows: 0, thinned: 0, zones: 0, dropped: 0, damaged: 0, bytes: 0 }, ...more };
}

function open(more: Partial<LiveOpen>): LiveOpen {
  return { start: 0, duration: 0, model: -1, category: LOAD, thread: 0, inside: '', function: '', ...more };
}

/** Three seconds: a load, then inferences of 20, 30 and 25 ms; the last one ends exactly where a second begins. */
function small(): Live {
  const live = new Live();
  apply(live, message({
    full: true,
    now: FIRST + 2.5 * S,
    models: [{ id: 0, name: 'det', path: '', runtime: '' }],
    threads: [{ id: 0, tid: 7, name: 'node', pid: 7 }, { id: 1, tid: 8, name: 'worker', pid: 7 }],
    rows: [
      [1, FIRST, 300e6, 0, LOAD, 0, 1],
      [2, FIRST + 0.4 * S, 20e6, 0, INFERENCE, 0, 2],
      [4, FIRST + 0.5 * S, 30e6, 0, INFERENCE, 0, 3],
      [5, FIRST + 0.6 * S, 10e3, 0, SETUP, 0, 4],
      [9, FIRST + 2 * S - 25e6, 25e6, 0, INFERENCE, 0, 5],
    ],
    buckets: [[0, LOAD, 1, 300e6, 300e6, 300e6], [0, INFERENCE, 2, 50e6, 30e6, 20e6], [0, SETUP, 1, 10e3, 10e3, 10e3], [2, INFERENCE, 1, 25e6, 25e6, 25e6]],
  }));
  return live;
}

test('a message with everything replaces what was there', () => {
  const live = small();
  assert.equal(live.rows.length, 5);
  assert.equal(modelName(live, 0), 'det');
  assert.equal(live.threads.get(0), 'main thread');
  assert.equal(live.threads.get(1), 'thread worker');
  apply(live, message({ full: true, state: 'waiting', first: null }));
  assert.equal(live.rows.length, 0);
  assert.equal(live.models.size, 0);
  assert.ok(Number.isNaN(live.buckets[INFERENCE]!.get(0, MAX)));
});

test('a later bucket of the same second takes the place of the earlier one', () => {
  const live = small();
  apply(live, message({ now: FIRST + 2.6 * S, buckets: [[2, INFERENCE, 3, 95e6, 40e6, 25e6]] }));
  assert.equal(live.buckets[INFERENCE]!.get(2, COUNT), 3);
  assert.equal(live.buckets[INFERENCE]!.get(2, SUM), 95e6);
  assert.equal(live.buckets[INFERENCE]!.get(2, MAX), 40e6);
});

test('seconds: the last 600, also before the first event; an old one cannot push out a new one', () => {
  const seconds = new Seconds(1);
  seconds.put(-1, [1], 0);
  assert.equal(seconds.get(-1, LAST), 1);
  seconds.put(SECONDS_KEPT - 1, [2], 0);
  assert.ok(Number.isNaN(seconds.get(-1, LAST)));
  seconds.put(-1, [3], 0);
  assert.equal(seconds.get(SECONDS_KEPT - 1, LAST), 2);
});

test('bars are the slowest of each second, and the newest second is not over', () => {
  const bars = barsOf(small(), INFERENCE, 2);
  assert.equal(bars.from, 2 - WINDOW + 1);
  assert.equal(bars.max[WINDOW - 1], 25e6);
  assert.ok(Number.isNaN(bars.max[WINDOW - 2]!));
  assert.equal(bars.max[WINDOW - 3], 30e6);
  assert.equal(bars.count[WINDOW - 3], 2);
  assert.equal(bars.unfinished, WINDOW - 1);
});

test('the strip has sums; set-ups only when they are shown', () => {
  const at = WINDOW - 3;
  const total = (withSetup: boolean) => sumsOf(small(), 2, withSetup).parts.reduce((sum, part) => sum + part.sum[at]!, 0);
  assert.equal(total(false), 350e6);
  assert.equal(total(true), 350.01e6);
});

test('what is open grows second by second, and is known by the innermost kind', () => {
  const live = small();
  apply(live, message({ now: FIRST + 2.5 * S, open: [
    open({ start: FIRST + 0.5 * S, duration: 2 * S, category: LOAD }),
    open({ start: FIRST + 1.2 * S, duration: 1.3 * S, category: SPECIALIZATION }),
    open({ start: FIRST + 2.49 * S, duration: 0.01 * S, category: INFERENCE, thread: 1 }),
  ] }));
  assert.deepEqual([...barsOf(live, LOAD, 2).growing.slice(-4)], [NaN, 0.5 * S, 1.5 * S, 2 * S]);
  assert.ok(barsOf(live, INFERENCE, 2).growing.every(Number.isNaN), 'one that is short is not shown: it would flicker');
  assert.deepEqual([...sumsOf(live, 2, false).open.slice(-4)], [-1, LOAD, SPECIALIZATION, SPECIALIZATION]);
  assert.deepEqual(innermostOpen(live).map((one) => one.category), [SPECIALIZATION]);
});

test('asynchronous ones are all open, whatever their thread does', () => {
  const live = small();
  apply(live, message({ now: FIRST + 2.5 * S, open: [
    open({ start: FIRST + 0.5 * S, duration: 2 * S, category: INFERENCE, async: true }),
    open({ start: FIRST + 0.6 * S, duration: 1.9 * S, category: INFERENCE, async: true }),
    open({ start: FIRST + 1.2 * S, duration: 1.3 * S, category: LOAD }),
  ] }));
  assert.deepEqual(innermostOpen(live).map((one) => one.category), [INFERENCE, INFERENCE, LOAD]);
  assert.deepEqual([...barsOf(live, INFERENCE, 2).growing.slice(-3)], [0.5 * S, 1.5 * S, 2 * S]);
});

test('a bar selects the rows that ended in its second, rows light their bars', () => {
  const live = small();
  const chosen = (pick: Parameters<typeof isPicked>[1]) => Array.from({ length: live.rows.length }, (_, i) => i).filter((i) => isPicked(live, pick, i)).map((i) => live.rows.number(i));
  assert.deepEqual(chosen({ kind: 'second', second: 0, category: INFERENCE }), [2, 4]);
  assert.deepEqual(chosen({ kind: 'second', second: 0, category: null }), [1, 2, 4, 5]);
  assert.deepEqual(chosen({ kind: 'second', second: 1, category: null }), [], 'an end on the border is of the later second');
  assert.deepEqual(chosen({ kind: 'second', second: 2, category: null }), [9]);
  assert.deepEqual([...litSeconds(live, { kind: 'rows', from: 2, to: 9 }, INFERENCE)], [0, 2]);
  assert.deepEqual([...litSeconds(live, { kind: 'rows', from: 2, to: 9 }, LOAD)], []);
  assert.equal(slowest(live, 0, INFERENCE)?.n, 4);
  assert.equal(position(live, 3), 2, 'numbers have gaps');
});

test('the table can be filtered by model or event, and is without set-ups at first', () => {
  const live = small();
  const numbers = (text: string, setup: boolean) => [...listed(live, text, setup)].map((i) => live.rows.number(i));
  assert.deepEqual(numbers('', false), [1, 2, 4, 9]);
  assert.deepEqual(numbers('', true), [1, 2, 4, 5, 9]);
  assert.deepEqual(numbers(' LOAD', false), [1]);
  assert.deepEqual(numbers('det', false), [1, 2, 4, 9]);
  assert.deepEqual(numbers('nothing', true), []);
});

test('a copy stays as it was', () => {
  const live = small();
  const copy = live.copy();
  apply(live, message({ now: FIRST + 3 * S, rows: [[10, FIRST + 2.6 * S, 1e6, 0, INFERENCE, 0, 6]], buckets: [[2, INFERENCE, 9, 9, 99e6, 9]], models: [{ id: 0, name: 'other', path: '', runtime: '' }] }));
  assert.equal(copy.rows.length, 5);
  assert.equal(copy.buckets[INFERENCE]!.get(2, MAX), 25e6);
  assert.equal(modelName(copy, 0), 'det');
  assert.equal(newestSecond(copy), 2);
});

test('resources: of processes the sum, a second without a look keeps the one before', () => {
  const live = new Live();
  const series = (id: number, kind: string, pid: number) => ({ id, name: '', label: 'GPU 0', kind, unit: kind === 'gpu' ? '%' : 'bytes', pid, scale: null });
  apply(live, message({ full: true, now: 3.2 * S, series: [series(0, 'process-memory', 1), series(1, 'process-memory', 2), series(2, 'gpu', 0)], values: [[0, 1, 100, 0, 0], [1, 1, 50, 0, 0], [0, 3, 110, 0, 0], [1, 2, 60, 0, 0], [1, 3, 70, 0, 0]] }));
  const [memory, gpu] = resourcesOf(live);
  assert.deepEqual([...memory!.values.slice(-4)], [NaN, 150, 160, 180]);
  assert.equal(memory!.last, 180);
  assert.equal(gpu!.label, 'GPU 0 busy');
  assert.ok(Number.isNaN(gpu!.last));
});

test('the past ends where nothing is kept any more', () => {
  const live = small();
  assert.equal(clampEdge(live, -50), 2, 'all there is fits into the window');
  apply(live, message({ now: FIRST + 2000.5 * S }));
  assert.equal(clampEdge(live, 0), 2000 - SECONDS_KEPT + WINDOW);
  assert.equal(clampEdge(live, 1990), 1990);
  assert.equal(clampEdge(live, 3000), 2000);
});

/** Bytes that are held: arrays, and entries of maps and lists. */
function held(thing: unknown, seen = new Set<unknown>()): number {
  if (typeof thing === 'string') return thing.length;
  if (typeof thing !== 'object' || thing === null || seen.has(thing)) return 8;
  seen.add(thing);
  if (ArrayBuffer.isView(thing)) return thing.byteLength;
  const parts: unknown[] = thing instanceof Map ? [...thing.entries()] : Object.values(thing);
  return parts.reduce((sum: number, part) => sum + held(part, seen), 8 * parts.length);
}

test('ten minutes of messages, and ten more, take the same memory', () => {
  const live = new Live();
  let n = 0;
  const feed = (fromSecond: number, toSecond: number) => {
    for (let tenth = fromSecond * 10; tenth < toSecond * 10; tenth++) {
      const now = FIRST + tenth * 0.1 * S;
      const second = Math.floor(tenth / 10);
      const rows: number[][] = [];
      for (let i = 0; i < 100; i++) rows.push([++n, now + i * 1e6, 1e6, n % 3000, i % 5, n % 5000, n]);
      apply(live, message({
        full: tenth === 0, now, rows,
        buckets: [0, 1, 2, 3, 4].map((category) => [second, category, 20, 20e6, 1e6, 1e6]),
        models: [{ id: second % 200, name: `model ${String(second).padStart(6)}`, path: '', runtime: '' }],
        threads: [{ id: tenth, tid: 1000000 + tenth, name: 'w'.repeat(15), pid: 1 }],
        open: tenth % 2 ? [open({ start: now })] : [open({ start: now })],
        ...(tenth === 0 ? { series: Array.from({ length: 8 }, (_, id) => ({ id, name: 'a', label: 'a', kind: 'core', unit: '%', pid: 0, scale: 100 })) } : {}),
        values: Array.from({ length: 8 }, (_, id) => [id, second, 50, 40, 60]),
      }));
    }
  };
  feed(0, 600);
  const after = held(live);
  feed(600, 1200);
  assert.equal(live.rows.length, ROWS_KEPT);
  assert.equal(live.rows.number(ROWS_KEPT - 1), n);
  assert.equal(live.rows.number(0), n - ROWS_KEPT + 1);
  assert.ok(live.threads.size <= 4096);
  assert.ok(Number.isNaN(live.buckets[INFERENCE]!.get(599, MAX)));
  assert.equal(live.buckets[INFERENCE]!.get(600, MAX), 1e6);
  assert.equal(live.series.get(3)!.values.get(1199, LAST), 50);
  assert.ok(after < 2e6, `${after} bytes`);
  assert.ok(Math.abs(held(live) - after) < after * 0.03, `${after} bytes, then ${held(live)}`);
});
