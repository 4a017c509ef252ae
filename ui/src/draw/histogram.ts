// SPDX-License-Identifier: Apache-2.0
// How often each duration was: bars (count on a log scale, so that one slow event among thousands is seen), lines for median and percentiles, this one marked.
import { duration } from '../base/format.ts';
import type { Palette } from './palette.ts';

export interface Bins {
  from: number;
  to: number;
  bins: number[];
  log: boolean;
}

/** Where a duration is, 0 to 1. */
export function position(bins: Bins, ns: number): number {
  const { from, to, log } = bins;
  if (!(to > from)) return 0.5;
  if (!log || from <= 0) return (ns - from) / (to - from);
  return Math.log(Math.max(ns, from * 1e-3) / from) / Math.log(to / from);
}

/** The duration at 0 to 1; the other way of position(). */
export function valueOf(bins: Bins, part: number): number {
  return bins.log && bins.from > 0 ? bins.from * (bins.to / bins.from) ** part : bins.from + (bins.to - bins.from) * part;
}

export function bin(values: ArrayLike<number>, count: number, log: boolean): Bins {
  let from = Infinity;
  let to = -Infinity;
  for (let i = 0; i < values.length; i++) {
    from = Math.min(from, values[i]!);
    to = Math.max(to, values[i]!);
  }
  if (!(to >= from)) return { from: 0, to: 1, bins: [], log: false };
  const out: Bins = { from, to: Math.max(to, from + 1), bins: new Array<number>(count).fill(0), log: log && from > 0 };
  for (let i = 0; i < values.length; i++) out.bins[Math.min(count - 1, Math.floor(position(out, values[i]!) * count))]!++;
  return out;
}

/** Round values for an axis from `from` to `to`, at most about `most`. */
export function roundMarks(from: number, to: number, most: number): number[] {
  const width = to - from;
  if (!(width > 0) || most < 1) return [];
  const power = 10 ** Math.floor(Math.log10(width / most));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => width / s <= most) ?? 10 * power;
  const out: number[] = [];
  for (let value = Math.ceil(from / step) * step; value <= to + step * 1e-9; value += step) out.push(value);
  return out;
}

export interface Marks {
  median: number;
  p90: number;
  p99: number;
  /** null: none is marked. */
  this: number | null;
  n: number;
}

function axisMarks(bins: Bins, width: number): number[] {
  if (!bins.log) return roundMarks(bins.from, bins.to, Math.max(2, Math.floor(width / 70)));
  const out: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(bins.from)); power <= bins.to; power *= 10) for (const m of [1, 2, 5]) if (m * power >= bins.from && m * power <= bins.to) out.push(m * power);
  const keep = Math.max(1, Math.ceil((out.length * 58) / width));
  return out.filter((_, i) => i % keep === 0);
}

export function drawHistogram(context: CanvasRenderingContext2D, bins: Bins, marks: Marks, left: number, top: number, width: number, height: number, fill: string | CanvasPattern, palette: Palette): void {
  const base = top + height - 17;
  const high = Math.max(10, base - top - 26);
  const most = Math.log10(1 + Math.max(1, ...bins.bins));
  const y = (n: number) => base - (Math.log10(1 + n) / most) * high;
  const inner = width - 22;
  const x = (ns: number) => left + Math.min(Math.max(position(bins, ns), 0), 1) * inner;
  const each = inner / Math.max(bins.bins.length, 1);

  context.font = `10px ${palette.font}`;
  context.textBaseline = 'alphabetic';
  for (let n = 1; Math.log10(1 + n) <= most; n *= 10) {
    context.fillStyle = palette.line;
    context.fillRect(left, Math.round(y(n)), width, 1);
    context.fillStyle = palette.ink3;
    context.textAlign = 'right';
    context.fillText(String(n), left + width - 1, y(n) - 2);
  }
  context.fillStyle = fill;
  bins.bins.forEach((n, i) => n && context.fillRect(left + i * each, y(n), Math.max(each - 1, 1), base - y(n)));
  context.fillStyle = palette.lineStrong;
  context.fillRect(left, base, width, 1);
  context.textAlign = 'center';
  let last = '';
  for (const value of axisMarks(bins, inner)) {
    const text = duration(value);
    if (text === last) continue; // all took nearly the same
    last = text;
    const half = context.measureText(text).width / 2;
    context.fillStyle = palette.lineStrong;
    context.fillRect(x(value), base, 1, 4);
    context.fillStyle = palette.ink3;
    context.fillText(text, Math.min(Math.max(x(value), left + half), left + width - half), base + 14);
  }
  drawMarks(context, marks, x, left, top, width, base, palette);
}

const ROWS = [8, 19];
const OWN_ROW = 30;

/** In which row each text has room, the first ones first; -1: in none. */
export function rowsFor(spans: [from: number, to: number][]): number[] {
  const taken: [number, number][][] = ROWS.map(() => []);
  return spans.map(([from, to]) => {
    const row = taken.findIndex((others) => others.every(([a, b]) => to < a || from > b));
    taken[row]?.push([from, to]);
    return row;
  });
}

function drawMarks(context: CanvasRenderingContext2D, marks: Marks, x: (ns: number) => number, left: number, top: number, width: number, base: number, palette: Palette): void {
  const lines: [string, number][] = [['median', marks.median]];
  if (marks.n >= 100 && Number.isFinite(marks.p99)) lines.push(['p99', marks.p99]);
  if (marks.n >= 10 && Number.isFinite(marks.p90)) lines.push(['p90', marks.p90]);
  context.textAlign = 'left';
  context.font = `10px ${palette.font}`;
  const place = (name: string, ns: number) => {
    const at = Math.round(x(ns));
    const text = `${name} ${duration(ns)}`;
    const size = context.measureText(text).width;
    return { at, text, size, begin: at + 4 + size > left + width ? at - size - 4 : at + 4 };
  };
  const write = (text: string, begin: number, down: number, color: string) => {
    context.strokeStyle = palette.panel;
    context.lineWidth = 3;
    context.strokeText(text, begin, top + down); // so that it can be read on bars and lines
    context.lineWidth = 1;
    context.fillStyle = color;
    context.fillText(text, begin, top + down);
  };
  const placed = lines.map(([name, ns]) => place(name, ns));
  const rows = rowsFor(placed.map(({ begin, size }) => [begin - 6, begin + size + 6]));
  context.fillStyle = palette.ink3;
  placed.forEach(({ at }, i) => {
    for (let dash = top + (ROWS[rows[i]!] ?? OWN_ROW) - 6; dash < base; dash += 4) context.fillRect(at, dash, 1, 2);
  });
  if (marks.this !== null) {
    context.fillStyle = palette.accent;
    context.fillRect(Math.round(x(marks.this)) - 1, top + OWN_ROW - 6, 2, base - top - OWN_ROW + 6);
  }
  placed.forEach(({ text, begin }, i) => rows[i]! >= 0 && write(text, begin, ROWS[rows[i]!]!, palette.ink2));
  if (marks.this === null) return;
  context.font = `600 10px ${palette.font}`;
  const own = place('this one', marks.this);
  write(own.text, own.begin, OWN_ROW, palette.accent);
}
