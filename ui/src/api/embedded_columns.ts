// SPDX-License-Identifier: Apache-2.0
// The columns of a mailed report, unpacked when a view first needs them. docs/report-html.md describes them.
import { Varints } from '../base/varint.ts';
import { Rows, type Items } from './lod.ts';
import { unpack, unpackJson } from './sections.ts';
import { UNFINISHED, type Meta } from './types.ts';

interface SetEntry {
  layer: 'slices' | 'sampled_calls' | 'states' | 'runs' | 'extras';
  track: string;
  rows: number[];
}

export interface Index {
  schema: number;
  /** Every slice is here; else a level of detail, and the slowest in full. */
  exact: boolean;
  slices: number;
  slices_kept: number;
  least_ns: number;
  by_model: boolean;
  slowest: number[];
  threads: { name: string; tid: number; process: string; count: number }[];
  unfinished: number[];
  counters: { track: string; count: number }[];
  first_message: number;
  messages: string[];
  tracks: { track: string; outlines: boolean; rows: number[] }[];
  sets: SetEntry[];
  /** Of each location: how often, how long, the first slice. */
  sums: [number, number, number][];
  args: Record<string, { key: string; value: string | number }[]>;
  args_all: boolean;
}

export interface Columns {
  index: Index;
  /** Exact: slices thread by thread, then what has an id behind them. */
  items: Items;
  depth: Uint16Array;
  /** First slice of each thread, and the end of the last. */
  first: number[];
  rows: Map<string, Rows>;
  sets: Map<string, { items: Items; rows: Rows }>;
  values: Map<string, { time: Float64Array; value: Float32Array }>;
}

function readSlices(index: Index, gap: Uint8Array, duration: Uint8Array, locationIds: Uint8Array, depth: Uint8Array, extras: number): { items: Items; depth: Uint16Array } {
  const count = index.exact ? index.slices : 0;
  const items: Items = { start: new Float64Array(count + extras), duration: new Float64Array(count + extras), location: new Uint32Array(count + extras), count: null, id: null, flags: new Uint8Array(count + extras) };
  const depths = new Uint16Array(count);
  const gaps = new Varints(gap);
  const durations = new Varints(duration);
  const locations = new Varints(locationIds);
  const levels = new Varints(depth);
  const edges: number[] = [];
  let at = 0;
  for (const thread of index.exact ? index.threads : []) {
    edges[0] = 0;
    for (let i = 0; i < thread.count; i++, at++) {
      const level = levels.next();
      const start = (edges[level] ?? 0) + gaps.signed();
      const length = durations.next();
      items.start[at] = start;
      items.duration[at] = length;
      items.location[at] = locations.next();
      depths[at] = level;
      edges[level] = start + length;
      edges[level + 1] = start;
    }
  }
  if (index.exact) for (const id of index.unfinished) items.flags![id]! |= UNFINISHED;
  return { items, depth: depths };
}

type Reader = Record<'start' | 'duration' | 'location' | 'count' | 'id' | 'flags', Varints>;

function readSet(from: Reader, entry: SetEntry): { items: Items; orders: Uint32Array[] } {
  const total = entry.rows.reduce((sum, row) => sum + row, 0);
  const items = { start: new Float64Array(total), duration: new Float64Array(total), location: new Uint32Array(total), count: new Uint32Array(total), id: new Uint32Array(total), flags: new Uint8Array(total) };
  const orders: Uint32Array[] = [];
  let at = 0;
  let id = 0;
  for (const count of entry.rows) {
    const order = new Uint32Array(count);
    let edge = 0;
    for (let i = 0; i < count; i++, at++) {
      items.start[at] = edge + from.start.signed();
      items.duration[at] = from.duration.next();
      items.location[at] = from.location.next();
      items.count[at] = from.count.next();
      id += from.id.signed();
      items.id[at] = id;
      items.flags[at] = from.flags.next();
      edge = items.start[at]! + items.duration[at]!;
      order[i] = at;
    }
    orders.push(order);
  }
  return { items, orders };
}

/** A thread's slices by their depth. */
function byDepth(depth: Uint16Array, from: number, to: number): Uint32Array[] {
  const sizes: number[] = [];
  for (let i = from; i < to; i++) sizes[depth[i]!] = (sizes[depth[i]!] ?? 0) + 1;
  const orders = Array.from(sizes, (size) => new Uint32Array(size ?? 0));
  const filled = orders.map(() => 0);
  for (let i = from; i < to; i++) orders[depth[i]!]![filled[depth[i]!]!++] = i;
  return orders;
}

function readTracks(out: Columns, ids: Varints, meta: Meta): void {
  const outlined = (locationId: number): boolean => meta.locations[locationId]?.kind === 'ml';
  for (const { track, rows, outlines } of out.index.tracks) {
    const orders = rows.map((count) => {
      const order = new Uint32Array(count);
      let id = 0;
      for (let i = 0; i < count; i++) order[i] = id += ids.signed();
      return order;
    });
    out.rows.set(track, new Rows(out.items, orders, outlines ? outlined : null));
  }
  if (out.index.exact) out.index.threads.forEach((_, i) => out.rows.set(`t${i}`, new Rows(out.items, byDepth(out.depth, out.first[i]!, out.first[i + 1]!))));
}

export async function readColumns(sections: Map<string, string>, meta: Meta): Promise<Columns> {
  const bytes = (name: string): Promise<Uint8Array<ArrayBuffer>> => unpack(sections.get(name) ?? '');
  const index = await unpackJson<Index>(sections.get('index') ?? '');
  if (index.schema !== 1) throw new Error('this file was made by another version of Inferogram');
  const [gap, duration, locationIds, depth, ids, start, length, where, count, id, flags, times, values] = await Promise.all(
    ['gap', 'duration', 'location', 'depth', 'ids', 'item-start', 'item-duration', 'item-location', 'item-count', 'item-id', 'item-flags', 'value-time', 'value'].map(bytes),
  );
  const reader: Reader = { start: new Varints(start!), duration: new Varints(length!), location: new Varints(where!), count: new Varints(count!), id: new Varints(id!), flags: new Varints(flags!) };
  const sets = index.sets.map((entry) => ({ entry, ...readSet(reader, entry) }));
  const extras = sets.find((set) => set.entry.layer === 'extras');
  const slices = readSlices(index, gap!, duration!, locationIds!, depth!, extras?.items.start.length ?? 0);
  if (extras) {
    slices.items.start.set(extras.items.start, index.slices);
    slices.items.duration.set(extras.items.duration, index.slices);
    slices.items.location.set(extras.items.location, index.slices);
    slices.items.flags!.set(extras.items.flags!, index.slices);
  }
  const first = [0];
  for (const thread of index.threads) first.push(first[first.length - 1]! + thread.count);
  const out: Columns = { index, ...slices, first, rows: new Map(), sets: new Map(), values: new Map() };
  readTracks(out, new Varints(ids!), meta);
  for (const { entry, items, orders } of sets) {
    if (entry.layer === 'extras') continue;
    const rows = new Rows(items, orders);
    out.sets.set(`${entry.layer}:${entry.track}`, { items, rows });
    if (entry.layer === 'slices') out.rows.set(entry.track, rows);
  }
  const time = new Varints(times!);
  const value = new Float32Array(values!.buffer, 0, values!.byteLength >> 2);
  let at = 0;
  for (const counter of index.counters) {
    const moments = new Float64Array(counter.count);
    let now = 0;
    for (let i = 0; i < counter.count; i++) moments[i] = now += time.next();
    out.values.set(counter.track, { time: moments, value: value.subarray(at, at + counter.count) });
    at += counter.count;
  }
  return out;
}
