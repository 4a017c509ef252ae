// SPDX-License-Identifier: Apache-2.0
// Resources: min to max of each pixel as a band, the last value as a line of steps.
import type { Values } from '../api/types.ts';
import { span, type View } from '../base/view.ts';
import type { Palette } from './palette.ts';

export interface Scale {
  low: number;
  high: number;
}

/** A round number at or above the highest value, so that tracks do not jump. */
export function niceScale(values: Values | null, min: number, max: number, natural: number | null): Scale {
  let high = natural ?? max;
  if (natural === null && values) for (let i = 0; i < values.count; i++) high = Math.max(high, values.max[i]!);
  if (!(high > 0)) high = 1;
  if (natural === null) {
    const power = 10 ** Math.floor(Math.log10(high));
    high = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((v) => v >= high * 1.02) ?? high;
  }
  return { low: Math.min(0, min), high };
}

export function drawCounter(context: CanvasRenderingContext2D, values: Values, view: View, left: number, top: number, width: number, height: number, scale: Scale, palette: Palette, fill = palette.resFill): void {
  const perNs = width / span(view);
  const up = height / (scale.high - scale.low || 1);
  const y = (value: number) => top + height - Math.min(Math.max((value - scale.low) * up, 0), height);
  let at = 0;

  if (!values.count) return;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.fillStyle = fill;
  context.beginPath();
  for (; at < values.count; at++) {
    const x0 = left + (values.time[at]! - view.from) * perNs;
    const x1 = at + 1 < values.count ? left + (values.time[at + 1]! - view.from) * perNs : left + width;
    if (x1 < left || x0 > left + width) continue;
    context.rect(x0, y(values.last[at]!), Math.max(x1 - x0, 1), top + height - y(values.last[at]!));
  }
  context.fill();
  context.strokeStyle = palette.resLine;
  context.lineWidth = 1;
  context.beginPath();
  let previous = NaN;
  for (let i = 0; i < values.count; i++) {
    const x0 = left + (values.time[i]! - view.from) * perNs;
    const x1 = i + 1 < values.count ? left + (values.time[i + 1]! - view.from) * perNs : left + width;
    // nothing used is a line at the bottom, nothing known is none
    const here = Math.min(Math.round(y(values.last[i]!)), Math.floor(top + height) - 1) + 0.5;
    if (x1 < left - 2 || x0 > left + width + 2) {
      previous = here;
      continue;
    }
    if (Number.isNaN(previous)) context.moveTo(x0, here);
    else context.lineTo(x0, previous);
    if (values.max[i]! > values.min[i]!) {
      context.lineTo(x0, y(values.max[i]!));
      context.lineTo(x0, y(values.min[i]!));
    }
    context.lineTo(x0, here);
    context.lineTo(x1, here);
    previous = here;
  }
  context.stroke();
  context.restore();
}

/** The value at a time: that of the last look at or before it; null: there was none. */
export function valueAt(values: Values, ns: number): number | null {
  let low = 0;
  let high = values.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values.time[middle]! <= ns) low = middle + 1;
    else high = middle;
  }
  return low ? values.last[low - 1]! : null;
}

/** CPU cores, one on top of the other, dark at the bottom. */
export function drawStacked(context: CanvasRenderingContext2D, series: Values[], view: View, left: number, top: number, width: number, height: number, high: number, palette: Palette): void {
  const columns = Math.ceil(width);
  const base = new Float32Array(columns);
  for (let s = 0; s < series.length; s++) {
    const values = series[s]!;
    let at = 0;
    context.fillStyle = palette.cores[s % palette.cores.length]!;
    context.beginPath();
    for (let px = 0; px < columns; px++) {
      const ns = view.from + ((px + 0.5) / width) * span(view);
      while (at + 1 < values.count && values.time[at + 1]! <= ns) at++;
      if (!values.count || values.time[at]! > ns) continue;
      const size = (values.last[at]! / high) * height;
      context.rect(left + px, top + height - base[px]! - size, 1, size);
      base[px]! += size;
    }
    context.fill();
  }
}
