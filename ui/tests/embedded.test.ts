// SPDX-License-Identifier: Apache-2.0
// Columns of a mailed report, packed here by hand as the program packs them.
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import './raw_deflate.ts';
import { readColumns } from '../src/api/embedded_columns.ts';
import { flowsOfRange, flowsOfSlice, joinFlows } from '../src/api/embedded_flows.ts';
import { histogram, quantile, rangeStats, sliceDetails } from '../src/api/embedded_slice.ts';
import type { Arrow, Meta } from '../src/api/types.ts';
import { Varints } from '../src/base/varint.ts';

const varint = (value: number): number[] => {
  const out: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) out.push((value % 128) + 128);
  return [...out, value];
};
const signed = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value);

async function pack(bytes: number[] | string): Promise<string> {
  const raw = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : Uint8Array.from(bytes);
  const stream = new Blob([raw]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return btoa(String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer())));
}

/** run [0, 100) with op [10, 40) and op [40, 60); run [200, 500) open; on another thread wait [50, 90) */
const SLICES = [
  { start: 0, duration: 100, location: 0, depth: 0 },
  { start: 10, duration: 30, location: 1, depth: 1 },
  { start: 40, duration: 20, location: 1, depth: 1 },
  { start: 200, duration: 300, location: 0, depth: 0 },
  { start: 50, duration: 40, location: 2, depth: 0 },
];
const THREADS = [4, 1];
const located = (name: string, kind: string, category: '' | 'inference' = '') => ({ name, kind, category, model: kind === 'zone' ? -1 : 0, function: 'main', color: 0 });
const META = { locations: [located('inference', 'ml', 'inference'), located('conv', 'op'), located('wait', 'zone')], models: [{ id: 0, name: 'det', path: '', runtime: '', process: 0 }], tracks: [], length_ns: 600 } as unknown as Meta;

async function made() {
  const gap: number[] = [];
  const edges: number[] = [];
  let at = 0;
  for (const count of THREADS) {
    edges[0] = 0;
    for (let i = 0; i < count; i++, at++) {
      const { start, duration, depth } = SLICES[at]!;
      gap.push(...signed(start - edges[depth]!));
      edges[depth] = start + duration;
      edges[depth + 1] = start;
    }
  }
  const column = (key: 'duration' | 'location' | 'depth') => SLICES.flatMap((slice) => varint(slice[key]));
  const index = {
    schema: 1, exact: true, slices: 5, slices_kept: 5, least_ns: 0, by_model: true, slowest: [], unfinished: [3], first_message: 6, messages: ['hello'],
    threads: THREADS.map((count, i) => ({ name: `thread ${i}`, tid: 100 + i, process: 'app', count })),
    counters: [{ track: 'c0', count: 3 }], tracks: [{ track: 'ml', outlines: false, rows: [2] }],
    sets: [{ layer: 'extras', track: '', rows: [2] }, { layer: 'states', track: 't0', rows: [2] }],
    sums: [[2, 400, 0], [2, 50, 1], [1, 40, 4]], args: { 3: [{ key: 'shape', value: '1x3' }] }, args_all: false,
  };
  const items = [
    { start: 70, duration: 30, location: 2, count: 1, id: 5, flags: 0 },
    { start: 5, duration: 0, location: 0, count: 1, id: 6, flags: 0 },
    { start: 0, duration: 50, location: 0, count: 1, id: 1, flags: 0 },
    { start: 50, duration: 100, location: 2, count: 1, id: 1, flags: 0 },
  ];
  const starts = [...signed(70), ...signed(5 - 100), ...signed(0), ...signed(0)];
  const ids = [...signed(5), ...signed(1), ...signed(1), ...signed(0)];
  const plain = (key: 'duration' | 'location' | 'count' | 'flags') => items.flatMap((item) => varint(item[key]));
  const sections: [string, number[] | string][] = [
    ['index', JSON.stringify(index)], ['gap', gap], ['duration', column('duration')], ['location', column('location')], ['depth', column('depth')], ['ids', [...signed(0), ...signed(3)]],
    ['item-start', starts], ['item-duration', plain('duration')], ['item-location', plain('location')], ['item-count', plain('count')], ['item-id', ids], ['item-flags', plain('flags')],
    ['value-time', [...varint(10), ...varint(100), ...varint(5)]], ['value', [...new Uint8Array(Float32Array.of(1, 2.5, -3).buffer)]],
  ];
  return new Map(await Promise.all(sections.map(async ([name, bytes]): Promise<[string, string]> => [name, await pack(bytes)])));
}

test('numbers of all sizes, and columns that end too early', () => {
  const wanted = [0, 1, 127, 128, 300, 2 ** 32, 2 ** 53 - 1];
  const read = new Varints(Uint8Array.from(wanted.flatMap(varint)));
  assert.deepEqual(wanted.map(() => read.next()), wanted);
  assert.ok(read.done);
  const both = new Varints(Uint8Array.from([0, -1, 1, -64, 12345678901, -12345678901].flatMap(signed)));
  assert.deepEqual([0, 0, 0, 0, 0, 0].map(() => both.signed()), [0, -1, 1, -64, 12345678901, -12345678901]);
  assert.throws(() => new Varints(Uint8Array.of(128)).next(), /truncated/);
});

test('slices come back as they were', async () => {
  const columns = await readColumns(await made(), META);
  assert.deepEqual([...columns.items.start], [0, 10, 40, 200, 50, 70, 5]);
  assert.deepEqual([...columns.items.duration], [100, 30, 20, 300, 40, 30, 0]);
  assert.deepEqual([...columns.depth], [0, 1, 1, 0, 0]);
  const rows = columns.rows.get('t0')!.query(0, 600, 600);
  assert.deepEqual([rows.rows, [...rows.row], [...rows.id]], [2, [0, 0, 1, 1], [0, 3, 1, 2]]);
  assert.deepEqual([...columns.rows.get('ml')!.query(0, 600, 600).id], [0, 3]);
  assert.equal(rows.flags[1], 1, 'what had not ended is marked');
  assert.deepEqual([...columns.values.get('c0')!.time], [10, 110, 115]);
  assert.deepEqual([...columns.values.get('c0')!.value], [1, 2.5, -3]);
});

test('details of a slice', async () => {
  const columns = await readColumns(await made(), META);
  const run = sliceDetails(columns, META, undefined, 0);
  assert.deepEqual(run.children, [{ name: 'conv', count: 2, total_ns: 50 }]);
  assert.deepEqual([run.thread.tid, run.process, run.parent, run.unfinished], [100, 'app', null, false]);
  assert.deepEqual(run.states, { running_ns: 50, runnable_ns: 0, blocked_ns: 50 });
  assert.deepEqual([run.same!.n, run.same!.next, run.same!.previous, run.same!.slower], [2, 3, null, 3]);
  assert.equal(sliceDetails(columns, META, undefined, 2).parent, 0);
  assert.deepEqual(sliceDetails(columns, META, undefined, 3).args, [{ key: 'shape', value: '1x3' }]);
  assert.equal(sliceDetails(columns, META, undefined, 6).name, 'hello', 'a message has its text');
  assert.throws(() => sliceDetails(columns, META, undefined, 7), /does not contain/);
});

test('statistics of a range', async () => {
  const columns = await readColumns(await made(), META);
  const rows = (from: number, to: number, part = {}) => rangeStats(columns, META, from, to, part).rows.map((row) => [row.name, row.count, row.total_ns]);
  const found = rangeStats(columns, META, 0, 60);
  assert.deepEqual(rows(0, 60), [['inference', 1, 60], ['conv', 2, 50], ['wait', 1, 10]], 'only what is inside counts');
  assert.deepEqual(found.inferences, { n: 1, open: 0, median_ns: 100, max_ns: 100 });
  assert.deepEqual(found.events, { n: 4, total_ns: 120, median_ns: 35, max_ns: 100 });
  assert.deepEqual(rows(60, 90), [['wait', 2, 50], ['inference', 1, 30]], 'what began before it, and async spans');
  assert.deepEqual(rows(0, 60, { model: 0 }), [['inference', 1, 60], ['conv', 2, 50]]);
  assert.deepEqual(rows(0, 60, { model: 0, q: 'CON' }), [['conv', 2, 50]]);
  assert.deepEqual(rows(0, 60, { q: 'nothing' }), []);
  assert.equal(rangeStats(columns, META, 0, 60, { q: 'conv' }).inferences.n, 0);
});

test('an async span is compared with others of its kind', async () => {
  const span = sliceDetails(await readColumns(await made(), META), META, undefined, 5);
  assert.deepEqual([span.name, span.same!.n, span.same!.previous, span.same!.next], ['wait', 1, null, null]);
  assert.equal(span.histogram.bins.reduce((sum, n) => sum + n, 0), 1);
  assert.equal(span.thread.track, '', 'its thread is not in the file');
});

test('flows that are in the file', () => {
  const arrow = (flow: number | null, from: number, to: number): Arrow => ({ id: 7, flow, name: 'request', kind: flow === null ? 'async' : 'flow', from: { ns: from * 10, slice: from, thread: 't0' }, to: { ns: to * 10, slice: to, thread: 't1' } });
  const all = { arrows: [arrow(0, 1, 2), arrow(0, 2, 3), arrow(1, 4, 5), arrow(null, 1, 5), arrow(null, 3, 4)], left_out: 2, kinds: ['flow' as const] };
  const of = (found: { arrows: Arrow[] }) => found.arrows.map((one) => `${one.from.slice}-${one.to.slice}`).join(' ');
  assert.equal(of(flowsOfSlice(all, 1)), '1-2 2-3 1-5', 'the whole flow, and async spans that touch it; ids are used again');
  assert.equal(of(flowsOfSlice(all, 9)), '');
  assert.equal(of(flowsOfRange(all, 25, 35)), '2-3 1-5 3-4');
  const joined = joinFlows([{ ...all, arrows: all.arrows.slice(0, 3) }, { ...all, arrows: all.arrows.slice(2) }]);
  assert.deepEqual([of(joined), joined.left_out], [of(all), 4]);
  assert.deepEqual(joinFlows([]).arrows, []);
});

test('quantiles and histograms', () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
  const bins = histogram([1, 10, 100, 1000]);
  assert.ok(bins.log);
  assert.equal(bins.bins.reduce((sum, n) => sum + n, 0), 4);
});
