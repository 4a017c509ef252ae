// SPDX-License-Identifier: Apache-2.0
// A value over the whole recording with its axes, as the memory page has it.
import type { Values } from '../api/types.ts';
import { moment, quantity } from '../base/format.ts';
import { ticks, toPixel, type View } from '../base/view.ts';
import { drawCounter, niceScale } from './counter.ts';
import { roundMarks } from './histogram.ts';
import type { Palette } from './palette.ts';

export const SERIES_LEFT = 64;
const BOTTOM = 18;
const TOP = 9;

export interface SeriesMark {
  ns: number;
  value: number;
  text: string;
}

export function drawSeries(context: CanvasRenderingContext2D, values: Values, view: View, unit: string, marks: SeriesMark[], width: number, height: number, palette: Palette): void {
  const inner = width - SERIES_LEFT - 4;
  const tall = height - BOTTOM - TOP;
  const scale = niceScale(values, 0, 0, null);
  const y = (value: number) => TOP + tall - ((value - scale.low) / (scale.high - scale.low)) * tall;
  const x = (ns: number) => SERIES_LEFT + toPixel(view, ns, inner);

  context.font = `10px ${palette.font}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const value of roundMarks(scale.low, scale.high, 4)) {
    context.fillStyle = palette.grid;
    context.fillRect(SERIES_LEFT, Math.round(y(value)), inner, 1);
    context.fillStyle = palette.ink3;
    context.fillText(quantity(value, unit), SERIES_LEFT - 6, y(value));
  }
  drawCounter(context, values, view, SERIES_LEFT, TOP, inner, tall, scale, palette);
  const { step, first, count } = ticks(view, inner, 90);
  context.textAlign = 'center';
  context.fillStyle = palette.ink3;
  for (let i = 0; i < count; i++) context.fillText(moment(first + i * step, step), Math.min(x(first + i * step), width - 16), height - 6);
  for (const mark of marks) {
    const at = x(mark.ns);
    const size = context.measureText(mark.text).width;
    context.fillStyle = palette.accent;
    context.beginPath();
    context.arc(at, y(mark.value), 3, 0, 7);
    context.fill();
    context.font = `600 10.5px ${palette.font}`;
    context.textAlign = at + size + 16 > width ? 'right' : 'left';
    context.fillText(mark.text, at + (at + size + 16 > width ? -7 : 7), Math.max(y(mark.value) - 8, 8));
  }
}
