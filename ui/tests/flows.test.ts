// SPDX-License-Identifier: Apache-2.0
// Arrows between slices: which are asked for, where they lead, where they are on the screen.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import type { TraceSource, Window } from '../src/api/source.ts';
import type { Arrow, ArrowKind, SliceDetails, Slices } from '../src/api/types.ts';
import { FlowArrows, arrowsAt } from '../src/data/flows.ts';
import { State } from '../src/data/state.ts';
import { bend } from '../src/draw/arrows.ts';
import { rowsFor } from '../src/draw/histogram.ts';
import { arrowWords, placeArrows, rowAt, type ArrowScene } from '../src/views/timeline/arrows.ts';
import { GAP, SLICE, layOut, type Choices } from '../src/views/timeline/layout.ts';
import { child, neighbour, sliceIn } from '../src/views/timeline/neighbours.ts';
import { scrollFor, tracksOf, unfold } from '../src/views/timeline/sight.ts';
import { FakeSource, meta, settle, slices, track } from './fakes.ts';

const arrow = (from: [number, number | null, string | null], to: [number, number | null, string | null], kind: ArrowKind = 'flow', name = 'request'): Arrow => ({
  id: 1, flow: kind === 'flow' ? 0 : null, name, kind, from: { ns: from[0], slice: from[1], thread: from[2] }, to: { ns: to[0], slice: to[1], thread: to[2] },
});
const choices = (more: Partial<Choices> = {}): Choices => ({ closed: new Set(), opened: new Set(), pinned: new Set(), hidden: new Set(), sampledCalls: new Set(), model: null, ...more });
const later = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

test('along a flow: what was recorded before what was guessed, the nearest first', () => {
  const all = [arrow([0, 1, 't0'], [50, 2, 't1'], 'wake'), arrow([0, 1, 't0'], [90, 3, 't1']), arrow([0, 1, 't0'], [60, 4, 't1']), arrow([5, 9, 't2'], [10, 1, 't0'], 'async')];
  assert.deepEqual(arrowsAt(all, 1, 1).map((one) => one.to.slice), [4, 3, 2]);
  assert.deepEqual(arrowsAt(all, 1, -1).map((one) => one.from.slice), [9]);
  assert.deepEqual(arrowsAt(all, 7, 1), []);
  assert.equal(arrowWords(all[1]!), 'request · 90\u2009ns');
  assert.equal(arrowWords(arrow([0, 1, 't0'], [50, 2, 't1'], 'wake', 'main')), 'woken by main · 50\u2009ns');
});

test('arrows of what is selected: a late answer is dropped', async () => {
  const fake = new FakeSource();
  const arrows = new FlowArrows(fake.source);
  arrows.choose(1);
  const first = fake.answerFlows;
  arrows.choose(2);
  first([arrow([0, 1, 't0'], [1, 5, 't1'])]);
  await settle();
  assert.deepEqual(arrows.chosen.value, []);
  fake.answerFlows([arrow([0, 2, 't0'], [1, 5, 't1'])]);
  await settle();
  assert.equal(arrows.chosen.value.length, 1);
  arrows.choose(2);
  assert.deepEqual(fake.flowsAsked, ['slice 1', 'slice 2'], 'the same one is not asked for again');
  arrows.choose(null);
  assert.deepEqual(arrows.chosen.value, []);
});

test('arrows in sight: asked for once the view rests', async () => {
  const fake = new FakeSource();
  const arrows = new FlowArrows(fake.source);
  arrows.look({ from: 0, to: 100 });
  await later(5);
  assert.deepEqual(fake.flowsAsked, ['-2-102']);
  fake.answerFlows([arrow([0, 2, 't0'], [1, 5, 't1'])], 7);
  await settle();
  assert.deepEqual([arrows.inSight.value.arrows.length, arrows.inSight.value.leftOut], [1, 7]);
  for (let i = 1; i < 20; i++) arrows.look({ from: i, to: 100 + i });
  await later(160);
  assert.equal(fake.flowsAsked.length, 2);
  arrows.look(null);
  assert.deepEqual(arrows.inSight.value, { arrows: [], leftOut: 0 });
});

const TRACKS = [track('p0', { kind: 'process', rows: 0 }), track('t0', { parent: 'p0', rows: 2 }), track('t1', { parent: 'p0', rows: 1 })];
const SLICES: Record<string, Slices> = { t0: slices([[0, 0, 100, 0], [1, 20, 30, 1]]), t1: slices([[0, 200, 50, 2]]) };

function scene(more: Partial<ArrowScene> = {}, some: Choices = choices()): ArrowScene {
  const layout = layOut(TRACKS, some, () => ({ rows: 0, skip: 0 }));
  return { chosen: [], inSight: [], slice: null, layout, tracks: TRACKS, view: { from: 0, to: 1000 }, width: 1000, scroll: 0, slicesOf: (id) => SLICES[id] ?? null, ...more };
}

test('arrows begin and end in the rows of their slices', () => {
  const one = arrow([25, 1, 't0'], [210, 0, 't1']);
  const made = scene({ chosen: [one], slice: 1 });
  const [placed] = placeArrows(made);
  const lane = (id: string) => made.layout.lanes.find((other) => other.track.id === id)!;
  assert.deepEqual([placed!.x0, placed!.x1], [25, 210]);
  assert.equal(placed!.y0, lane('t0').top + lane('t0').sliceTop + SLICE + GAP + SLICE / 2);
  assert.equal(placed!.y1, lane('t1').top + lane('t1').sliceTop + SLICE / 2);
  assert.ok(placed!.strong && placed!.words.startsWith('request'));
  assert.equal(placeArrows(scene({ chosen: [one], inSight: [one] })).length, 1, 'none twice');
  assert.equal(placeArrows(scene({ inSight: [one] }))[0]!.strong, false);
  assert.equal(placeArrows(scene({ inSight: [one], view: { from: 500, to: 600 } })).length, 0, 'out of sight');
});

test('arrows of folded threads go to what they are folded into; of hidden ones there are none', () => {
  const one = arrow([25, 1, 't0'], [210, 0, 't1']);
  const folded = placeArrows(scene({ inSight: [one] }, choices({ closed: new Set(['p0']) })));
  assert.deepEqual([folded[0]!.y0, folded[0]!.y1], [12, 12]);
  assert.equal(placeArrows(scene({ inSight: [one] }, choices({ hidden: new Set(['p0']) }))).length, 0);
  assert.equal(placeArrows(scene({ inSight: [arrow([25, 1, 't0'], [210, null, null])] })).length, 0, 'a thread without a track');
  const closed = placeArrows(scene({ inSight: [one] }, choices({ closed: new Set(['t0']) })));
  assert.equal(closed[0]!.y0, 24 + 4 + SLICE / 2, 'a closed thread has one row');
});

test('the row of a slice that is drawn together with others: the deepest there', () => {
  assert.equal(rowAt(SLICES['t0']!, { ns: 30, slice: 99, thread: 't0' }), 1);
  assert.equal(rowAt(SLICES['t0']!, { ns: 60, slice: 99, thread: 't0' }), 0);
  assert.equal(rowAt(SLICES['t0']!, { ns: 900, slice: null, thread: 't0' }), 0);
});

test('arrows leave to the right and arrive from the left', () => {
  for (const [x0, x1] of [[0, 400], [100, 100], [300, 20]] as const) {
    const [c0, c1] = bend(x0, x1);
    assert.ok(c0 > x0 && c1 < x1);
  }
});

test('texts of a histogram are not written over one another', () => {
  assert.deepEqual(rowsFor([[0, 50], [60, 100], [40, 70], [45, 65]]), [0, 0, 1, -1]);
});

/** Answers slices of one thread exactly, but draws those of less than a 100th of the range together, as a server does. */
class Thread {
  asked = 0;
  constructor(private readonly rows: [row: number, start: number, duration: number][]) {}
  get source(): TraceSource {
    return {
      slices: (_: string, { from, to }: Window): Promise<Slices> => {
        this.asked++;
        const seen = this.rows.map(([row, start, duration], id) => ({ row, start, duration, id })).filter(({ start, duration }) => start < to && (start >= from || start + duration > from));
        const out = slices(seen.map(({ row, start, duration }) => [row, start, duration, 0]));
        seen.forEach(({ id }, i) => (out.id[i] = id));
        // merges neighbours of a row that are narrow
        for (let i = 0; i + 1 < out.count; i++) {
          if (out.row[i] !== out.row[i + 1] || out.start[i + 1]! + out.duration[i + 1]! - out.start[i]! > (to - from) / 100) continue;
          out.merged[i] = out.merged[i + 1] = 2;
          out.start[i + 1] = out.start[i]!;
          out.duration[i] = out.duration[i + 1] = seen[i + 1]!.start + seen[i + 1]!.duration - out.start[i]!;
        }
        return Promise.resolve(out);
      },
    } as unknown as TraceSource;
  }
}

const details = (more: Partial<SliceDetails>): SliceDetails => ({ thread: { track: 't0', name: '', tid: 1 }, depth: 0, start: 0, duration: 10, kind: 'zone', category: '', model: -1, ...more }) as unknown as SliceDetails;

test('the slice before and after another one, however far or near', async () => {
  const rows: [number, number, number][] = [[0, 0, 10], [0, 20, 10], [1, 22, 3], [1, 26, 3], [0, 900_000_000, 5], [0, 900_000_006, 5]];
  const { source } = new Thread(rows);
  const at = (id: number) => details({ depth: rows[id]![0], start: rows[id]![1], duration: rows[id]![2] });
  assert.equal(await neighbour(source, at(0), 1, 1e9), 1);
  assert.equal(await neighbour(source, at(1), 1, 1e9), 4, 'the first of two that are drawn together from afar');
  assert.equal(await neighbour(source, at(4), -1, 1e9), 1);
  assert.equal(await neighbour(source, at(4), 1, 1e9), 5);
  assert.equal(await neighbour(source, at(5), 1, 1e9), null);
  assert.equal(await neighbour(source, at(0), -1, 1e9), null);
  assert.equal(await neighbour(source, at(2), 1, 1e9), 3);
  assert.equal(await child(source, at(1)), 2);
  assert.equal(await child(source, at(0)), null);
  assert.equal(await sliceIn(source, 't0', 0, 0, 1e9, true), 5);
});

test('in sight: scrolled to, or opened, only if it cannot be seen', () => {
  const tracks = [track('ml', { kind: 'ml' }), track('m0', { kind: 'model', parent: 'ml', model: 0 }), track('o0', { kind: 'ops', model: 0 }), ...Array.from({ length: 40 }, (_, i) => track(`x${i}`)), ...TRACKS];
  const run = details({ kind: 'ml', category: 'inference', model: 0, thread: { track: 't1', name: '', tid: 2 } });
  assert.deepEqual(tracksOf(run, tracks), ['t1', 'ml', 'm0']);
  assert.deepEqual(tracksOf(details({ kind: 'op', model: 0 }), tracks), ['t0', 'o0']);
  const some = choices({ closed: new Set(['p0']) });
  const layout = (with_: Choices) => layOut(tracks, with_, () => ({ rows: 0, skip: 0 }));
  assert.equal(scrollFor(layout(some), ['t1', 'ml', 'm0'], 0, 0, 300), 'here', 'its model is in sight');
  assert.equal(scrollFor(layout(some), ['t1'], 0, 0, 300), 'folded');
  assert.ok(unfold(some, tracks, 't1'));
  assert.ok(some.opened.has('p0') && !some.closed.has('p0'));
  const to = scrollFor(layout(some), ['t1'], 0, 0, 300);
  assert.ok(typeof to === 'number' && to > 500);
  assert.equal(scrollFor(layout(some), ['t1'], 0, to, 300), 'here');
  assert.equal(unfold(some, tracks, 't1'), false, 'nothing is left to open');
  const closed = choices({ closed: new Set(['t0']) });
  assert.equal(scrollFor(layout(closed), ['t0'], 1, to, 300), 'folded', 'its row is not shown');
  assert.ok(unfold(closed, tracks, 't0') && closed.opened.has('t0'));
});

test('what statistics are restricted to: the model, and a text that names have', () => {
  const state = new State(new FakeSource().source, { ...meta(), models: [{ id: 1, name: 'det', path: '', runtime: '', process: 0 }] }, 0);
  assert.deepEqual([state.part, state.partWords], [{}, '']);
  state.search.set('conv');
  assert.deepEqual(state.part, {}, 'nothing has it in its name');
  state.hits.set([3]);
  state.model.set(1);
  assert.deepEqual([state.part, state.partWords], [{ model: 1, q: 'conv' }, 'det, names with “conv”']);
});
