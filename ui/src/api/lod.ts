// SPDX-License-Identifier: Apache-2.0
// Level of detail over columns that are in the page, by the rules of the server: what is narrower than three pixels is drawn
// together with its neighbours up to the next line of a grid, and has the location of the longest of them.
import { MERGED, OUTLINE, UNFINISHED, type Slices, type Values } from './types.ts';

/** Items of any number of rows; a row is a list of indices into these, by start. */
export interface Items {
  start: Float64Array;
  duration: Float64Array;
  location: Uint32Array;
  /** How many events an item is; null: each is one. */
  count: Uint32Array | null;
  /** null: the index itself. */
  id: Uint32Array | null;
  flags: Uint8Array | null;
}

const FAN = 16;
const MERGE_PX = 3;

/** At least the given, and the same for nearly the same, so that merged items do not flicker while zooming. */
export function gridOf(least: number): number {
  if (!(least > 1)) return 1;
  const exponent = Math.floor(Math.log2(least)) + 1;
  const scale = 2 ** exponent;
  return Math.ceil((Math.ceil((least / scale) * 64) / 64) * scale);
}

class Row {
  /** Longest of 16, of 256, ...; [0] is the durations themselves. */
  private readonly levels: Float64Array[] = [];

  constructor(private readonly items: Items, readonly order: Uint32Array) {
    const first = new Float64Array(order.length);
    for (let i = 0; i < order.length; i++) first[i] = items.duration[order[i]!]!;
    this.levels.push(first);
    for (let below = first; below.length > FAN; ) {
      const level = new Float64Array(Math.ceil(below.length / FAN));
      for (let i = 0; i < below.length; i++) if (below[i]! > level[(i / FAN) | 0]!) level[(i / FAN) | 0] = below[i]!;
      this.levels.push(level);
      below = level;
    }
  }

  start = (i: number): number => this.items.start[this.order[i]!]!;
  end = (i: number): number => this.start(i) + this.levels[0]![i]!;

  /** The first index from `from` on that begins at ns or later; near ones are found fastest. */
  firstFrom(from: number, ns: number): number {
    let low = from;
    for (let step = 1; low < this.order.length && this.start(low) < ns; step *= 2) {
      from = low + 1;
      low += step;
    }
    let high = Math.min(low, this.order.length);
    low = from;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.start(middle) < ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first index from `from` on that lasts at least so long; the length if there is none. */
  nextLong(from: number, least: number): number {
    let level = 0;
    let at = from;
    for (;;) {
      const here = this.levels[level]!;
      if (at >= here.length) return this.order.length;
      if (here[at]! >= least) {
        if (level === 0) return at;
        level--;
        at *= FAN;
        continue;
      }
      at++;
      while (level + 1 < this.levels.length && at % FAN === 0) {
        at /= FAN;
        level++;
      }
    }
  }

  longest(from: number, to: number): number {
    let best = from;
    const durations = this.levels[0]!;
    for (let i = from; i < to; ) {
      let level = 0;
      let size = 1;
      while (level + 1 < this.levels.length && i % (size * FAN) === 0 && to - i >= size * FAN) {
        level++;
        size *= FAN;
      }
      if (this.levels[level]![i / size]! > durations[best]!) best = this.nextLong(i, this.levels[level]![i / size]!);
      i += size;
    }
    return best;
  }
}

interface Piece {
  row: number;
  from: number;
  to: number;
}

export class Rows {
  private readonly built: (Row | null)[];

  constructor(private readonly items: Items, readonly orders: Uint32Array[], private readonly outlined: ((locationId: number) => boolean) | null = null) {
    this.built = orders.map(() => null);
  }

  private row(number: number): Row {
    return (this.built[number] ??= new Row(this.items, this.orders[number]!));
  }

  /** What of [from, to) can be told apart with so many pixels. */
  query(from: number, to: number, px: number): Slices {
    const least = Math.max(1, Math.ceil(((to - from) / px) * MERGE_PX));
    const grid = gridOf(((to - from) / px) * MERGE_PX);
    const pieces: Piece[] = [];
    for (let number = 0; number < this.orders.length; number++) {
      const row = this.row(number);
      let at = row.firstFrom(0, from);
      const end = row.firstFrom(at, to);
      if (at > 0 && row.end(at - 1) > from) at--;
      let long = -1;
      while (at < end) {
        let next = at + 1;
        if (long < at) long = row.nextLong(at, least);
        if (long !== at) next = Math.min(row.firstFrom(next, (Math.floor(row.start(at) / grid) + 1) * grid), end, long);
        pieces.push({ row: number, from: at, to: next });
        at = next;
      }
    }
    return this.collect(pieces, from, to);
  }

  private collect(pieces: Piece[], from: number, to: number): Slices {
    const n = pieces.length;
    const { items } = this;
    const out: Slices = { from, to, rows: this.orders.length, count: n, start: new Float64Array(n), duration: new Float32Array(n), location: new Uint32Array(n), merged: new Uint32Array(n), id: new Uint32Array(n), row: new Uint16Array(n), flags: new Uint8Array(n) };
    for (let i = 0; i < n; i++) {
      const piece = pieces[i]!;
      const row = this.row(piece.row);
      const many = piece.to - piece.from > 1;
      const item = row.order[many ? row.longest(piece.from, piece.to) : piece.from]!;
      const locationId = items.location[item]!;
      let flags = items.flags?.[item] ?? 0;
      let count = 0;
      if (items.count) for (let k = piece.from; k < piece.to; k++) count += items.count[row.order[k]!]!;
      else count = piece.to - piece.from;
      if (many) flags = (flags | MERGED) & ~UNFINISHED;
      if (this.outlined?.(locationId)) flags |= OUTLINE;
      out.start[i] = row.start(piece.from);
      out.duration[i] = Math.max(0, row.end(piece.to - 1) - row.start(piece.from));
      out.location[i] = locationId;
      out.merged[i] = count;
      out.id[i] = items.id ? items.id[item]! : item;
      out.row[i] = piece.row;
      out.flags[i] = flags;
    }
    return out;
  }
}

/** Values of a counter: the least, the most and the last of each pixel. */
export function bucketValues(time: Float64Array, value: Float32Array, from: number, to: number, px: number): Values {
  const search = (ns: number): number => {
    let low = 0;
    let high = time.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (time[middle]! < ns) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const width = (to - from) / px;
  const first = Math.max(0, search(from) - 1); // the value that holds at the begin
  const end = Math.min(time.length, search(to) + 1); // and the one that a line goes to
  const picked: { time: number; min: number; max: number; last: number }[] = [];
  let current = NaN;
  for (let i = first; i < end; i++) {
    const number = Math.floor(time[i]! / width);
    const here = value[i]!;
    const last = picked[picked.length - 1];
    if (!Number.isFinite(here)) continue;
    if (!last || number !== current || i + 1 === end) {
      picked.push({ time: time[i]!, min: here, max: here, last: here });
      current = number;
      continue;
    }
    last.min = Math.min(last.min, here);
    last.max = Math.max(last.max, here);
    last.last = here;
  }
  return {
    from,
    to,
    count: picked.length,
    time: Float64Array.from(picked, (bucket) => bucket.time),
    min: Float32Array.from(picked, (bucket) => bucket.min),
    max: Float32Array.from(picked, (bucket) => bucket.max),
    last: Float32Array.from(picked, (bucket) => bucket.last),
  };
}
