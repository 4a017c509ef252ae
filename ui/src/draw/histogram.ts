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
  for (const value of axisMarks(bins, inner)) {
    const text = duration(value);
    const half = context.measureText(text).width / 2;
    context.fillStyle = palette.lineStrong;
    context.fillRect(x(value), base, 1, 4);
    context.fillStyle = palette.ink3;
    context.fillText(text, Math.min(Math.max(x(value), left + half), left + width - half), base + 14);
  }
  drawMarks(context, marks, x, left, top, width, base, palette);
}

function drawMarks(context: CanvasRenderingContext2D, marks: Marks, x: (ns: number) => number, left: number, top: number, width: number, base: number, palette: Palette): void {
  const lines: [string, number, number, boolean][] = [['median', marks.median, 8, false]];
  if (marks.n >= 10) lines.push(['p90', marks.p90, 19, false]);
  if (marks.n >= 100) lines.push(['p99', marks.p99, 8, false]);
  if (marks.this !== null) lines.push(['this one', marks.this, 30, true]);
  context.textAlign = 'left';
  for (const [name, ns, down, mine] of lines) {
    const at = Math.round(x(ns));
    context.fillStyle = mine ? palette.accent : palette.ink3;
    if (mine) context.fillRect(at - 1, top + down - 6, 2, base - top - down + 6);
    else for (let dash = top + down - 6; dash < base; dash += 4) context.fillRect(at, dash, 1, 2);
    context.font = `${mine ? '600 ' : ''}10px ${palette.font}`;
    if (!mine) context.fillStyle = palette.ink2;
    const text = `${name} ${duration(ns)}`;
    const size = context.measureText(text).width;
    const begin = at + 4 + size > left + width ? at - size - 4 : at + 4;
    context.strokeStyle = palette.panel;
    context.lineWidth = 3;
    context.strokeText(text, begin, top + down); // so that it can be read on bars and lines
    context.fillText(text, begin, top + down);
    context.lineWidth = 1;
  }
}
