// SPDX-License-Identifier: Apache-2.0
// What a mailed report can say of slices by itself: details of one, the next of a kind, statistics of a range.
import type { Columns } from './embedded_columns.ts';
import { asReport } from './report.ts';
import type { Filter } from './source.ts';
import { UNFINISHED, type Json, type Meta, type RangeStats, type SliceDetails } from './types.ts';

const BINS = 48;
const LOG_FROM = 30;
const CHILDREN = 12;

export function quantile(sorted: ArrayLike<number>, rank: number): number {
  if (!sorted.length) return NaN;
  const at = rank * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

export function histogram(sorted: ArrayLike<number>): { from: number; to: number; bins: number[]; log: boolean } {
  const bins = new Array<number>(BINS).fill(0);
  if (!sorted.length) return { from: 0, to: 1, bins, log: false };
  const least = sorted[0]!;
  const most = sorted[sorted.length - 1]!;
  const log = most > LOG_FROM * Math.max(least, 1);
  const from = log && least === 0 ? 1 : least;
  const to = most > from ? most : from + 1;
  const scale = BINS / (log ? Math.log(to / from) : to - from);
  for (let i = 0; i < sorted.length; i++) {
    const value = Math.max(sorted[i]!, from);
    bins[Math.min(BINS - 1, Math.floor((log ? Math.log(value / from) : value - from) * scale))]!++;
  }
  return { from, to, bins, log };
}

function threadOf(columns: Columns, id: number): number {
  let low = 0;
  let high = columns.first.length - 1;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (columns.first[middle]! <= id) low = middle;
    else high = middle;
  }
  return low;
}

function childrenOf(columns: Columns, meta: Meta, id: number, end: number): SliceDetails['children'] {
  const sums = new Map<number, { name: string; count: number; total_ns: number }>();
  const { items, depth } = columns;
  for (let i = id + 1; i < end && depth[i]! > depth[id]!; i++) {
    if (depth[i] !== depth[id]! + 1) continue;
    const locationId = items.location[i]!;
    const sum = sums.get(locationId) ?? { name: meta.locations[locationId]?.name ?? '', count: 0, total_ns: 0 };
    sum.count++;
    sum.total_ns += items.duration[i]!;
    sums.set(locationId, sum);
  }
  const all = [...sums.values()].sort((a, b) => b.total_ns - a.total_ns);
  const rest = all.splice(CHILDREN);
  if (rest.length) all.push(rest.reduce((sum, one) => ({ name: 'other', count: sum.count + one.count, total_ns: sum.total_ns + one.total_ns }), { name: 'other', count: 0, total_ns: 0 }));
  return all;
}

/** The same event elsewhere: how this one compares, and which ones are around it. */
function sameAs(columns: Columns, id: number): Pick<SliceDetails, 'same' | 'histogram'> {
  const { items, index } = columns;
  const locationId = items.location[id]!;
  const own = items.duration[id]!;
  const start = items.start[id]!;
  const durations = new Float64Array(index.sums[locationId]?.[0] ?? 0);
  let n = 0;
  let shorter = 0;
  let previous: number | null = null;
  let next: number | null = null;
  let slower: number | null = null;
  // a slice among slices, an async span among async spans
  const isSlice = id < index.slices;
  for (let i = isSlice ? 0 : index.slices; i < (isSlice ? index.slices : index.first_message); i++) {
    if (items.location[i] !== locationId) continue;
    const duration = items.duration[i]!;
    if (n < durations.length) durations[n++] = duration;
    if (duration < own) shorter++;
    if (items.start[i]! < start && (previous === null || items.start[i]! > items.start[previous]!)) previous = i;
    if (items.start[i]! > start && (next === null || items.start[i]! < items.start[next]!)) next = i;
    if ((duration > own || (duration === own && i > id)) && (slower === null || duration < items.duration[slower]!)) slower = i;
  }
  const sorted = durations.subarray(0, n).sort();
  return {
    same: { n, rank: n ? shorter / n : NaN, median: quantile(sorted, 0.5), p90: quantile(sorted, 0.9), p99: quantile(sorted, 0.99), min: sorted[0] ?? NaN, max: sorted[n - 1] ?? NaN, previous, next, slower },
    histogram: histogram(sorted),
  };
}

function statesOf(columns: Columns, track: string, from: number, to: number): SliceDetails['states'] {
  const set = columns.sets.get(`states:${track}`);
  if (!set) return null;
  const sums = [0, 0, 0];
  const { start, duration, location: locationIds } = set.items;
  for (let i = 0; i < start.length; i++) {
    const part = Math.min(to, start[i]! + duration[i]!) - Math.max(from, start[i]!);
    if (part > 0) sums[locationIds[i]!]! += part;
  }
  return { running_ns: sums[0]!, runnable_ns: sums[1]!, blocked_ns: sums[2]! };
}

function placementOf(meta: Meta, model: number, report: Json | undefined): SliceDetails['placement'] {
  const name = meta.models.find((one) => one.id === model)?.name;
  const found = report && asReport(report).models.find((one) => one.name === name)?.placement;
  if (!found) return null;
  return { asked: found.requested.join(', '), nodes: Object.entries(found.nodes).map(([provider, nodes]) => ({ provider, nodes })) };
}

function basics(columns: Columns, meta: Meta, id: number, locationId: number, start: number, duration: number, flags: number): SliceDetails {
  const at = meta.locations[locationId];
  const message = id - columns.index.first_message;
  const isMessage = message >= 0 && message < columns.index.messages.length;
  return {
    id,
    name: isMessage ? columns.index.messages[message]! : at?.name ?? '',
    location: locationId,
    kind: isMessage ? 'message' : at?.kind ?? '',
    category: isMessage ? '' : at?.category ?? '',
    model: isMessage ? -1 : at?.model ?? -1,
    function: isMessage ? '' : at?.function ?? '',
    start,
    duration,
    unfinished: (flags & UNFINISHED) !== 0,
    thread: { track: '', name: '', tid: 0 },
    process: '',
    depth: 0,
    parent: null,
    args: columns.index.args[String(id)] ?? [],
    children: [],
    same: null as unknown as SliceDetails['same'],
    histogram: null as unknown as SliceDetails['histogram'],
    states: null,
    samples: null,
    placement: null,
  };
}

function onThread(columns: Columns, out: SliceDetails, thread: number): void {
  const about = columns.index.threads[thread];
  if (!about) return;
  out.thread = { track: `t${thread}`, name: about.name, tid: about.tid };
  out.process = about.process;
  out.states = statesOf(columns, `t${thread}`, out.start, out.start + out.duration);
}

/** An item of a level of detail: what is known without its neighbours. */
function coarse(columns: Columns, meta: Meta, id: number): SliceDetails | null {
  for (const [key, { items, rows }] of columns.sets) {
    if (!key.startsWith('slices:')) continue;
    const i = items.id!.indexOf(id);
    if (i < 0) continue;
    const out = basics(columns, meta, id, items.location[i]!, items.start[i]!, items.duration[i]!, items.flags![i]!);
    const thread = id < columns.index.slices ? threadOf(columns, id) : -1;
    out.depth = rows.orders.findIndex((order) => order.includes(i));
    if (thread >= 0) onThread(columns, out, thread);
    return out;
  }
  return null;
}

export function sliceDetails(columns: Columns, meta: Meta, report: Json | undefined, id: number): SliceDetails {
  const { index, items, depth } = columns;
  const missing = 'this file does not contain this event on its own; open the trace itself with inferogram serve';
  if (!index.exact) {
    const found = coarse(columns, meta, id);
    if (!found) throw new Error(missing);
    found.placement = placementOf(meta, found.model, report);
    return found;
  }
  if (!(id < items.start.length)) throw new Error(missing);
  const out = basics(columns, meta, id, items.location[id]!, items.start[id]!, items.duration[id]!, items.flags![id]!);
  if (id >= index.slices) {
    if (id < index.first_message) Object.assign(out, sameAs(columns, id), { placement: placementOf(meta, out.model, report) });
    return out;
  }
  const named = out.args.find((arg) => arg.key === 'name');
  const thread = threadOf(columns, id);
  if (typeof named?.value === 'string') out.name = named.value;
  onThread(columns, out, thread);
  out.depth = depth[id]!;
  for (let i = id - 1; out.parent === null && out.depth > 0 && i >= columns.first[thread]!; i--) if (depth[i] === out.depth - 1) out.parent = i;
  out.children = childrenOf(columns, meta, id, columns.first[thread + 1]!);
  Object.assign(out, sameAs(columns, id));
  out.placement = placementOf(meta, out.model, report);
  return out;
}

const RANGE_ROWS = 40;

/** By location: whether it passes, or null: all do. */
function passing(meta: Meta, { model, q }: Filter): boolean[] | null {
  const wanted = q?.toLowerCase();
  return model === undefined && !wanted ? null : meta.locations.map((one) => (model === undefined || one.model === model) && (!wanted || one.name.toLowerCase().includes(wanted)));
}

export function rangeStats(columns: Columns, meta: Meta, from: number, to: number, part: Filter = {}): RangeStats {
  const { items, index } = columns;
  const found = new Map<number, { durations: number[]; total_ns: number }>();
  const passes = passing(meta, part);
  const runs: number[] = [];
  const all: number[] = [];
  let total_ns = 0;
  let open = 0;
  for (let i = 0; i < index.first_message; i++) {
    const start = items.start[i]!;
    const end = start + items.duration[i]!;
    const locationId = items.location[i]!;
    if (start >= to || (end <= from && start < from) || passes?.[locationId] === false) continue;
    let row = found.get(locationId);
    if (!row) found.set(locationId, (row = { durations: [], total_ns: 0 }));
    const inside = Math.max(Math.min(end, to) - Math.max(start, from), 0);
    row.durations.push(items.duration[i]!);
    row.total_ns += inside;
    total_ns += inside;
    all.push(items.duration[i]!);
    if (meta.locations[locationId]?.category !== 'inference' || meta.locations[locationId]?.kind !== 'ml') continue;
    if (items.flags![i]! & UNFINISHED) open++;
    else runs.push(items.duration[i]!);
  }
  const sums = (durations: number[]) => (durations.sort((a, b) => a - b), { median_ns: quantile(durations, 0.5), max_ns: durations[durations.length - 1] ?? NaN });
  const rows = [...found].map(([number, { durations, total_ns }]) => {
    const one = meta.locations[number]!;
    durations.sort((a, b) => a - b);
    return { name: one.name, kind: one.kind, category: one.category, model: one.model, count: durations.length, total_ns, median_ns: quantile(durations, 0.5), max_ns: durations[durations.length - 1]! };
  });
  rows.sort((a, b) => b.total_ns - a.total_ns);
  return { length_ns: to - from, rows: rows.slice(0, RANGE_ROWS), inferences: { n: runs.length, open, ...sums(runs) }, events: { n: all.length, total_ns, ...sums(all) }, cpu: { busy_cores: busyCores(columns, meta, from, to) }, functions: [] };
}

/** Mean over the range of what the processes used, each value standing for the time before it. */
function busyCores(columns: Columns, meta: Meta, from: number, to: number): number | null {
  let cores: number | null = null;
  for (const track of meta.tracks) {
    const values = track.kind === 'counter' && meta.locations[Number(track.id.slice(1))]?.name === 'cpu %' ? columns.values.get(track.id) : undefined;
    let sum = 0;
    let time = 0;
    for (let i = 1; values && i < values.time.length; i++) {
      const part = Math.min(values.time[i]!, to) - Math.max(values.time[i - 1]!, from);
      if (part <= 0 || !Number.isFinite(values.value[i]!)) continue;
      sum += values.value[i]! * part;
      time += part;
    }
    if (time > 0) cores = (cores ?? 0) + sum / time / 100;
  }
  return cores;
}
