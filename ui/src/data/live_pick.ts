// SPDX-License-Identifier: Apache-2.0
// What the live page makes of what is known: the seconds of a graph, the rows of a bar, the bars of rows, the resources below. All functions are pure.
import type { LiveOpen } from '../api/live.ts';
import { CATEGORIES, COUNT, INFERENCE, LAST, LOAD, MAX, SECOND, SECONDS_KEPT, SETUP, SPECIALIZATION, SUM, modelName, type Live, type Row } from './live.ts';

export const WINDOW = 90;
/** Shorter ones end before anybody could read it. */
const OPEN_FROM_NS = 0.5e9;

/** A second of one category or of all, or rows from one number to another. */
export type Pick = { kind: 'second'; second: number; category: number | null } | { kind: 'rows'; from: number; to: number };

export const secondOf = (live: Live, ns: number): number => Math.floor((ns - (live.first ?? 0)) / SECOND);
/** The second that is not over yet; the last one at the end. */
export const newestSecond = (live: Live): number => Math.max(0, secondOf(live, live.now));

/** Inside of what is kept and of what was: nothing is left of the first second. */
export function clampEdge(live: Live, edge: number): number {
  const newest = newestSecond(live);
  return Math.min(newest, Math.max(edge, WINDOW - 1, newest - SECONDS_KEPT + WINDOW));
}

/** What takes long, one of each thread: the innermost, because the others wait for it. Nothing waits for an asynchronous one. */
export function innermostOpen(live: Live): LiveOpen[] {
  const byThread = new Map<number, LiveOpen>();
  for (const one of live.open) if (!one.async && isLong(one) && one.start >= (byThread.get(one.thread)?.start ?? -Infinity)) byThread.set(one.thread, one);
  return [...byThread.values(), ...live.open.filter((one) => one.async && isLong(one))].sort((a, b) => a.start - b.start);
}

export const isLong = (open: LiveOpen): boolean => open.duration >= OPEN_FROM_NS;

export interface Bars {
  category: number;
  /** The second of the first bar. */
  from: number;
  max: Float64Array; // NaN: nothing ended in that second
  count: Float64Array;
  /** The bar of the second that is not over; -1: not here. */
  unfinished: number;
  /** How long the longest open event had taken at the end of each second; NaN: not yet begun. */
  growing: Float64Array;
  open: LiveOpen | null;
}

export function barsOf(live: Live, category: number, edge: number): Bars {
  const from = edge - WINDOW + 1;
  const max = new Float64Array(WINDOW);
  const count = new Float64Array(WINDOW);
  const growing = new Float64Array(WINDOW).fill(NaN);
  const open = live.open.filter((one) => one.category === category && isLong(one)).sort((a, b) => a.start - b.start)[0] ?? null;
  for (let i = 0; i < WINDOW; i++) {
    const end = (live.first ?? 0) + (from + i + 1) * SECOND;
    max[i] = live.buckets[category]!.get(from + i, MAX);
    count[i] = live.buckets[category]!.get(from + i, COUNT) || 0;
    if (open && end > open.start && from + i <= newestSecond(live)) growing[i] = Math.min(end, live.now) - open.start;
  }
  const newest = newestSecond(live) - from;
  return { category, from, max, count, unfinished: live.state !== 'ended' && newest >= 0 && newest < WINDOW ? newest : -1, growing, open };
}

/** Time spent per second, by category in the order of the strip; open: the category that goes on without having ended, or -1. */
export function sumsOf(live: Live, edge: number, withSetup: boolean): { from: number; parts: { category: number; sum: Float64Array }[]; open: Int8Array } {
  const from = edge - WINDOW + 1;
  const shown = [INFERENCE, LOAD, SPECIALIZATION, ...(withSetup ? [SETUP] : [])];
  const parts = shown.map((category) => ({ category, sum: Float64Array.from({ length: WINDOW }, (_, i) => live.buckets[category]!.get(from + i, SUM) || 0) }));
  const open = new Int8Array(WINDOW).fill(-1);
  // the innermost kind says most: a load that specializes is both
  for (const category of [INFERENCE, LOAD, SPECIALIZATION]) barsOf(live, category, edge).growing.forEach((ns, i) => ns > 0 && (open[i] = category));
  return { from, parts, open };
}

export function isPicked(live: Live, pick: Pick | null, i: number): boolean {
  if (!pick) return false;
  const { rows } = live;
  if (pick.kind === 'rows') return rows.number(i) >= pick.from && rows.number(i) <= pick.to;
  return (pick.category === null || rows.category(i) === pick.category) && secondOf(live, rows.end(i)) === pick.second;
}

/** The seconds that are lit in the graph of a category. */
export function litSeconds(live: Live, pick: Pick | null, category: number): Set<number> {
  const lit = new Set<number>();
  if (pick?.kind === 'second' && (pick.category === null || pick.category === category)) lit.add(pick.second);
  if (pick?.kind === 'rows')
    for (let i = position(live, pick.from); i < live.rows.length && live.rows.number(i) <= pick.to; i++) if (live.rows.category(i) === category) lit.add(secondOf(live, live.rows.end(i)));
  return lit;
}

/** Where the row with this number is, or the next newer one. */
export function position(live: Live, n: number): number {
  let low = 0;
  let high = live.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (live.rows.number(middle) < n) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Positions of the rows that the table shows. */
export function listed(live: Live, text: string, withSetup: boolean): Int32Array {
  const words = text.trim().toLowerCase();
  const fits = new Map<number, boolean>(); // by model and category: few, while rows are many
  const out = new Int32Array(live.rows.length);
  let n = 0;
  for (let i = 0; i < live.rows.length; i++) {
    const category = live.rows.category(i);
    if (category === SETUP && !withSetup) continue;
    if (words) {
      const key = live.rows.model(i) * 8 + category;
      let fit = fits.get(key);
      if (fit === undefined) fits.set(key, (fit = `${modelName(live, live.rows.model(i))} ${CATEGORIES[category]}`.toLowerCase().includes(words)));
      if (!fit) continue;
    }
    out[n++] = i;
  }
  return out.subarray(0, n);
}

/** The slowest row that is known of a second. */
export function slowest(live: Live, second: number, category: number): Row | null {
  let best: Row | null = null;
  for (let i = 0; i < live.rows.length; i++) {
    if (live.rows.category(i) !== category || secondOf(live, live.rows.end(i)) !== second) continue;
    const row = live.rows.at(i);
    if (!best || row.duration > best.duration) best = row;
  }
  return best;
}

export interface Resource {
  kind: string;
  label: string;
  unit: string;
  /** The last value; NaN: none yet. */
  last: number;
  /** One per second of the window, the newest last. */
  values: Float64Array;
  scale: number | null;
}

const RESOURCES: [kind: string, label: string][] = [
  ['cpu', 'CPU'],
  ['process-memory', 'Memory'],
  ['gpu', 'busy'],
  ['gpu-memory', 'memory'],
  ['npu', 'busy'],
  ['npu-memory', 'memory'],
  ['memory', 'Memory of the machine'],
  ['process-cpu', 'CPU of the program'],
  ['power', 'Power'],
];
const RESOURCES_MOST = 4;

/** What stands at the bottom: of each kind the first, of processes the sum. */
export function resourcesOf(live: Live, now = live.now): Resource[] {
  const newest = Math.floor(now / SECOND);
  const out: Resource[] = [];
  for (const [kind, label] of RESOURCES) {
    const all = [...live.series.values()].filter((one) => one.about.kind === kind);
    const used = kind.startsWith('process-') ? all : all.slice(0, 1);
    if (!used.length || out.length === RESOURCES_MOST) continue;
    const about = used[0]!.about;
    const values = new Float64Array(WINDOW).fill(NaN);
    for (const one of used) {
      let before = NaN;
      for (let i = 0; i < WINDOW; i++) {
        const value = one.values.get(newest - WINDOW + 1 + i, LAST);
        // looks are about a second apart, so that a second can be without one
        const filled = Number.isNaN(value) && i > 0 && !Number.isNaN(one.values.get(newest - WINDOW + i, LAST)) ? before : value;
        before = value;
        if (!Number.isNaN(filled)) values[i] = (Number.isNaN(values[i]!) ? 0 : values[i]!) + filled;
      }
    }
    let last = NaN;
    for (const value of values) if (!Number.isNaN(value)) last = value;
    const device = kind.startsWith('gpu') || kind.startsWith('npu');
    out.push({ kind, label: device ? `${about.label.replace(/ (busy|memory|utili[sz]ation)$/i, '')} ${label}` : label, unit: about.unit, last, values, scale: about.scale });
  }
  return out;
}
