// SPDX-License-Identifier: Apache-2.0
// The ruler, the grid below it, the minimap above.
import type { Busy } from '../api/types.ts';
import { moment } from '../base/format.ts';
import { span, ticks, toPixel, type View } from '../base/view.ts';
import type { Palette } from './palette.ts';

const ORDER = ['', 'prepare-ep', 'specialization', 'load', 'setup', 'inference'] as const;

export function drawGrid(context: CanvasRenderingContext2D, view: View, left: number, width: number, height: number, palette: Palette): void {
  const { step, first, count } = ticks(view, width);
  context.fillStyle = palette.grid;
  for (let i = 0; i < count; i++) context.fillRect(Math.round(left + toPixel(view, first + i * step, width)), 0, 1, height);
}

export function drawRuler(context: CanvasRenderingContext2D, view: View, left: number, top: number, width: number, height: number, palette: Palette): void {
  const { step, first, count } = ticks(view, width);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.font = `11px ${palette.font}`;
  context.textBaseline = 'middle';
  for (let i = 0; i < count; i++) {
    const ns = first + i * step;
    const x = Math.round(left + toPixel(view, ns, width));
    context.fillStyle = palette.lineStrong;
    context.fillRect(x, top + height - 6, 1, 6);
    context.fillStyle = palette.ink2;
    context.fillText(moment(ns, step), x + 4, top + height / 2 - 1);
  }
  context.restore();
}

export function drawMinimap(context: CanvasRenderingContext2D, busy: Busy | null, view: View, length: number, marks: number[], left: number, top: number, width: number, height: number, palette: Palette): void {
  const bar = 7;
  const whole = { from: 0, to: length };
  if (busy) {
    const columns = busy.categories.length || busy.cpu.length;
    const each = width / Math.max(columns, 1);
    for (let i = 0; i < busy.categories.length; i++) {
      const shares = busy.categories[i]!;
      let best = 0;
      for (let c = 1; c < shares.length; c++) if (shares[c]! > (best ? shares[best]! : 0)) best = c;
      if (!best) continue;
      context.fillStyle = palette.category(ORDER[best] ?? '').fill;
      context.globalAlpha = Math.min(1, 0.35 + shares[best]!);
      context.fillRect(left + i * each, top + 2, Math.max(each, 0.8), bar);
    }
    context.globalAlpha = 1;
    context.fillStyle = palette.resFill;
    for (let i = 0; i < busy.cpu.length; i++) {
      const high = (busy.cpu[i] ?? 0) * (height - bar - 5);
      context.fillRect(left + i * (width / busy.cpu.length), top + height - high, Math.max(width / busy.cpu.length, 0.8), high);
    }
    context.fillStyle = palette.bad;
    for (const finding of busy.findings) {
      const x = left + toPixel(whole, finding.ns, width);
      context.beginPath();
      context.moveTo(x - 3.5, top);
      context.lineTo(x + 3.5, top);
      context.lineTo(x, top + 5);
      context.fill();
    }
  }
  context.fillStyle = palette.accent;
  for (const mark of marks) context.fillRect(left + mark, top + bar + 3, 1, 5);
  const x0 = left + Math.max(0, toPixel(whole, view.from, width));
  const x1 = left + Math.min(width, toPixel(whole, view.to, width));
  context.fillStyle = palette.range;
  context.fillRect(x0, top, Math.max(x1 - x0, 2), height);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x0 + 0.75, top + 0.75, Math.max(x1 - x0 - 1.5, 2), height - 1.5);
  context.lineWidth = 1;
}

export function drawRange(context: CanvasRenderingContext2D, range: View, view: View, left: number, width: number, height: number, palette: Palette): void {
  const x0 = left + toPixel(view, range.from, width);
  const x1 = left + toPixel(view, range.to, width);
  if (x1 < left || x0 > left + width || span(range) <= 0) return;
  context.fillStyle = palette.range;
  context.fillRect(Math.max(x0, left), 0, Math.min(x1, left + width) - Math.max(x0, left), height);
  context.fillStyle = palette.accent;
  for (const x of [x0, x1]) if (x >= left && x <= left + width) context.fillRect(Math.round(x), 0, 1, height);
}
