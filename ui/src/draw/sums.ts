// SPDX-License-Identifier: Apache-2.0
// The small charts of the live page: time spent per second, and resources.
import type { Category } from '../api/types.ts';
import { edgeOf, hatch } from './bars.ts';
import { niceScale } from './counter.ts';
import type { Palette } from './palette.ts';

export interface SumPicture {
  parts: { category: Category; sum: ArrayLike<number> }[];
  /** What goes on without having ended in each second; '': nothing. */
  open: Category[];
  unfinished: number;
  lit: number; // -1: none
}

/** The top of the strip: one load of a minute must not flatten all the others. */
export function sumScale(totals: number[]): number {
  const there = totals.filter((ns) => ns > 0).sort((a, b) => a - b);
  const most = there[there.length - 1] ?? 0;
  const middle = there[there.length >> 1] ?? 0;
  return Math.min(most, Math.max(4 * middle, 1e9)) || 1e9;
}

export function drawSums(context: CanvasRenderingContext2D, picture: SumPicture, width: number, height: number, palette: Palette): void {
  const bars = picture.open.length;
  const step = width / bars;
  const bottom = height - 8;
  const totals = picture.open.map((open, i) => picture.parts.reduce((sum, part) => sum + part.sum[i]!, open ? 1e9 : 0));
  const perNs = (bottom - 2) / sumScale(totals);
  for (let i = 0; i < bars; i++) {
    const x = i * step;
    let top = bottom;
    if (i === picture.lit) {
      context.fillStyle = palette.accentSoft;
      context.fillRect(x - 1, 0, step, bottom);
    }
    context.globalAlpha = i === picture.unfinished ? 0.55 : 1;
    for (const { category, sum } of picture.parts) {
      const tall = Math.min(sum[i]! * perNs, top);
      if (!(tall > 0)) continue;
      context.fillStyle = palette.category(category).fill;
      context.fillRect(x, top - tall, step - 2, tall);
      top -= tall;
    }
    context.globalAlpha = 1;
    if (!picture.open[i]) continue;
    const tall = Math.min(1e9 * perNs, top - 1);
    const edge = edgeOf(palette, picture.open[i]!);
    context.fillStyle = edge;
    context.globalAlpha = 0.25;
    context.fillRect(x, top - 1 - tall, step - 2, tall);
    context.globalAlpha = 1;
    hatch(context, x, top - 1 - tall, step - 2, tall, edge);
  }
  context.fillStyle = palette.lineStrong;
  context.fillRect(0, bottom + 1, width, 1);
}

/** A resource over the window, as a line of steps. */
export function drawSpark(context: CanvasRenderingContext2D, values: ArrayLike<number>, scale: number | null, ends: [string, string], width: number, height: number, palette: Palette): void {
  const bottom = height - 16;
  const step = width / values.length;
  let highest = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > highest) highest = values[i]!;
  const high = niceScale(null, 0, highest, scale).high;
  const y = (value: number) => bottom - Math.min(value / high, 1) * (bottom - 4);
  const line = new Path2D();
  const area = new Path2D();
  let drawing = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isNaN(value)) {
      drawing = false;
      continue;
    }
    if (drawing) line.lineTo(i * step, y(value));
    else line.moveTo(i * step, y(value));
    line.lineTo((i + 1) * step, y(value));
    area.rect(i * step, y(value), step + 0.3, bottom - y(value));
    drawing = true;
  }
  context.fillStyle = palette.resFill;
  context.fill(area);
  context.strokeStyle = palette.resLine;
  context.lineWidth = 1.1;
  context.stroke(line);
  context.fillStyle = palette.lineStrong;
  context.fillRect(0, bottom, width, 1);
  context.fillStyle = palette.ink3;
  context.font = `10px ${palette.font}`;
  context.textBaseline = 'alphabetic';
  context.textAlign = 'left';
  context.fillText(ends[0], 0, height - 4);
  context.textAlign = 'right';
  context.fillText(ends[1], width, height - 4);
}
