// SPDX-License-Identifier: Apache-2.0
// Inferences over the run: each a dot, when it began and how long it took.
import type { Points } from '../api/types.ts';
import { duration, moment } from '../base/format.ts';
import { ticks, toPixel, type View } from '../base/view.ts';
import { roundMarks } from './histogram.ts';
import type { Palette } from './palette.ts';

export interface DotScale {
  low: number;
  high: number; // what is longer is drawn at the upper edge, as a triangle
}

const LEFT = 52;
const BOTTOM = 18;

/** From a little below the shortest to the longest; but not higher than thrice the 99th percentile, so that one outlier does not flatten the rest. */
export function dotScale(points: Points): DotScale {
  if (!points.count) return { low: 0, high: 1 };
  const order = Float32Array.from(points.duration).sort();
  const least = order[0]!;
  const most = order[order.length - 1]!;
  const usual = order[Math.floor((order.length - 1) * 0.99)]! * 3;
  const high = Math.min(most, Math.max(usual, least * 1.2));
  const low = least > high * 0.4 ? least - Math.max((high - least) * 0.25, least * 0.05) : 0;
  return { low: Math.max(0, low), high: high + (high - Math.max(0, low)) * 0.08 };
}

export interface FirstRun {
  start: number;
  duration: number;
}

export interface DotFrame {
  view: View;
  scale: DotScale;
  width: number;
  height: number;
}

const dotX = (frame: DotFrame, ns: number) => LEFT + toPixel(frame.view, ns, frame.width - LEFT - 6);
const dotY = (frame: DotFrame, ns: number) => {
  const part = (Math.min(ns, frame.scale.high) - frame.scale.low) / (frame.scale.high - frame.scale.low || 1);
  return frame.height - BOTTOM - part * (frame.height - BOTTOM - 6);
};

export function drawDots(context: CanvasRenderingContext2D, points: Points, frame: DotFrame, first: FirstRun | null, chosen: number, palette: Palette): void {
  const { width, height, scale, view } = frame;
  context.font = `10px ${palette.font}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const value of roundMarks(scale.low, scale.high, 5)) {
    const y = Math.round(dotY(frame, value));
    context.fillStyle = palette.grid;
    context.fillRect(LEFT, y, width - LEFT, 1);
    context.fillStyle = palette.ink3;
    context.fillText(duration(value), LEFT - 6, y);
  }
  const { step, first: mark, count } = ticks(view, width - LEFT, 80);
  context.textAlign = 'center';
  for (let i = 0; i < count; i++) context.fillText(moment(mark + i * step, step), Math.min(dotX(frame, mark + i * step), width - 16), height - 6);
  context.fillStyle = palette.category('inference').fill;
  context.globalAlpha = points.count > 1500 ? 0.4 : 0.6;
  for (let i = 0; i < points.count; i++) {
    const x = dotX(frame, points.start[i]!);
    const y = dotY(frame, points.duration[i]!);
    context.beginPath();
    if (points.duration[i]! > scale.high) {
      context.moveTo(x - 3, y + 5);
      context.lineTo(x + 3, y + 5);
      context.lineTo(x, y);
    } else context.arc(x, y, 1.5, 0, 7);
    context.fill();
  }
  context.globalAlpha = 1;
  context.textAlign = 'left';
  context.font = `10.5px ${palette.font}`;
  if (first) {
    const x = dotX(frame, first.start);
    const y = Math.max(dotY(frame, first.duration), 7);
    context.fillStyle = palette.category('inference').fill;
    context.beginPath();
    context.arc(x, y, 3, 0, 7);
    context.fill();
    context.strokeStyle = palette.bg;
    context.lineWidth = 4;
    context.strokeText(`first ${duration(first.duration)}`, x + 7, y); // so that it can be read among dots
    context.lineWidth = 1;
    context.fillStyle = palette.ink2;
    context.fillText(`first ${duration(first.duration)}`, x + 7, y);
  }
  if (chosen >= 0 && chosen < points.count) {
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(dotX(frame, points.start[chosen]!), dotY(frame, points.duration[chosen]!), 4.5, 0, 7);
    context.stroke();
    context.lineWidth = 1;
  }
}

/** The dot nearest to a point, not farther than 9 px; -1: none. */
export function dotAt(points: Points, frame: DotFrame, x: number, y: number): number {
  let best = -1;
  let least = 81;
  for (let i = 0; i < points.count; i++) {
    const dx = dotX(frame, points.start[i]!) - x;
    const dy = dotY(frame, points.duration[i]!) - y;
    if (dx * dx + dy * dy < least) {
      least = dx * dx + dy * dy;
      best = i;
    }
  }
  return best;
}
