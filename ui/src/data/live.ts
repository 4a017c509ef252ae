// SPDX-License-Identifier: Apache-2.0
// What is known of a recording that goes on. Everything has a fixed size, so that a page that is left open for days stays as small as it was.
import type { LiveCategories, LiveInfo, LiveMessage, LiveOpen, LiveSeries, LiveState, LiveTotals } from '../api/live.ts';

/** As the numbers in messages mean them. */
export const CATEGORIES = ['prepare-ep', 'specialization', 'load', 'setup', 'inference'] as const;
export const SPECIALIZATION = 1;
export const LOAD = 2;
export const SETUP = 3;
export const INFERENCE = 4;

export const SECONDS_KEPT = 600;
export const ROWS_KEPT = 5000;
const NAMES_KEPT = 4096;
const SERIES_KEPT = 256;
export const SECOND = 1e9;

const slotOf = (second: number): number => ((second % SECONDS_KEPT) + SECONDS_KEPT) % SECONDS_KEPT;

/** The last 600 seconds, some numbers for each: a ring, in which a second is where its remainder says. */
export class Seconds {
  private readonly which = new Float64Array(SECONDS_KEPT).fill(NaN);
  private readonly columns: Float64Array[];

  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => new Float64Array(SECONDS_KEPT));
  }

  put(second: number, values: readonly number[], from: number): void {
    const slot = slotOf(second);
    if (this.which[slot]! > second) return; // too old to be kept
    this.which[slot] = second;
    for (let i = 0; i < this.columns.length; i++) this.columns[i]![slot] = values[from + i] ?? NaN;
  }

  get(second: number, column: number): number {
    const slot = slotOf(second);
    return this.which[slot] === second ? this.columns[column]![slot]! : NaN;
  }

  clear(): void {
    this.which.fill(NaN);
  }

  copy(): Seconds {
    const copy = new Seconds(this.columns.length);
    copy.which.set(this.which);
    copy.columns.forEach((column, i) => column.set(this.columns[i]!));
    return copy;
  }
}

export const COUNT = 0;
export const SUM = 1;
export const MAX = 2;
export const LAST = 0;

export interface Row {
  n: number;
  start: number;
  duration: number;
  model: number;
  category: number;
  thread: number;
}

/** The last 5,000 finished events, in the order in which they became known. */
export class Rows {
  private readonly columns = Array.from({ length: 6 }, () => new Float64Array(ROWS_KEPT));
  private first = 0;
  length = 0;

  push(row: readonly number[]): void {
    const at = (this.first + this.length) % ROWS_KEPT;
    this.columns.forEach((column, i) => (column[at] = row[i] ?? 0));
    if (this.length < ROWS_KEPT) this.length++;
    else this.first = (this.first + 1) % ROWS_KEPT;
  }

  /** 0 is the oldest. */
  at(i: number): Row {
    const at = (this.first + i) % ROWS_KEPT;
    const [n, start, duration, model, category, thread] = this.columns.map((column) => column[at]!) as [number, number, number, number, number, number];
    return { n, start, duration, model, category, thread };
  }
  number = (i: number): number => this.columns[0]![(this.first + i) % ROWS_KEPT]!;
  end = (i: number): number => this.columns[1]![(this.first + i) % ROWS_KEPT]! + this.columns[2]![(this.first + i) % ROWS_KEPT]!;
  category = (i: number): number => this.columns[4]![(this.first + i) % ROWS_KEPT]!;
  model = (i: number): number => this.columns[3]![(this.first + i) % ROWS_KEPT]!;

  clear(): void {
    this.first = this.length = 0;
  }

  copy(): Rows {
    const copy = new Rows();
    copy.columns.forEach((column, i) => column.set(this.columns[i]!));
    copy.first = this.first;
    copy.length = this.length;
    return copy;
  }
}

export interface Series {
  about: LiveSeries;
  values: Seconds;
}

const NO_TOTALS: LiveTotals = { events: 0, rows: 0, thinned: 0, zones: 0, dropped: 0, damaged: 0, bytes: 0 };

export class Live {
  state: LiveState = 'waiting';
  why = '';
  now = 0;
  first: number | null = null;
  totals = NO_TOTALS;
  info: LiveInfo | null = null;
  categories: LiveCategories | null = null;
  models = new Map<number, string>();
  threads = new Map<number, string>();
  buckets = CATEGORIES.map(() => new Seconds(4));
  rows = new Rows();
  open: LiveOpen[] = [];
  series = new Map<number, Series>();

  /** As it is now; what comes later does not change it. */
  copy(): Live {
    const copy = new Live();
    Object.assign(copy, this);
    copy.models = new Map(this.models);
    copy.threads = new Map(this.threads);
    copy.buckets = this.buckets.map((one) => one.copy());
    copy.rows = this.rows.copy();
    copy.series = new Map([...this.series].map(([id, one]) => [id, { about: one.about, values: one.values.copy() }]));
    return copy;
  }
}

function clear(live: Live): void {
  live.info = live.categories = null;
  live.models.clear();
  live.threads.clear();
  for (const one of live.buckets) one.clear();
  live.rows.clear();
  live.open = [];
  live.series.clear();
}

/** The newest stay: only rows that are still there need a name. */
function keep<T>(map: Map<number, T>, id: number, value: T, most: number): void {
  map.delete(id);
  map.set(id, value);
  if (map.size > most) map.delete(map.keys().next().value!);
}

export function apply(live: Live, message: LiveMessage): void {
  if (message.full) clear(live);
  live.state = message.state;
  live.why = message.why;
  live.now = message.now;
  live.first = message.first;
  live.totals = message.totals;
  if (message.info) live.info = message.info;
  if (message.categories) live.categories = message.categories;
  if (message.open) live.open = message.open;
  for (const model of message.models ?? []) keep(live.models, model.id, model.name, NAMES_KEPT);
  for (const thread of message.threads ?? []) keep(live.threads, thread.id, thread.tid === thread.pid ? 'main thread' : `thread ${thread.name || thread.tid}`, NAMES_KEPT);
  for (const bucket of message.buckets ?? []) live.buckets[bucket[1]!]?.put(bucket[0]!, bucket, 2);
  for (const row of message.rows ?? []) live.rows.push(row);
  for (const about of message.series ?? []) keep(live.series, about.id, { about, values: live.series.get(about.id)?.values ?? new Seconds(3) }, SERIES_KEPT);
  for (const value of message.values ?? []) live.series.get(value[0]!)?.values.put(value[1]!, value, 2);
}

export const modelName = (live: Live, id: number): string => (id < 0 ? '' : live.models.get(id) ?? `model ${id}`);
