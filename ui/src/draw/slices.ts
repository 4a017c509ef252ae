// SPDX-License-Identifier: Apache-2.0
// Rows of slices. What comes here has the screen's level of detail already, so everything in sight is drawn.
import { MERGED, OUTLINE, UNFINISHED, type Slices } from '../api/types.ts';
import { duration } from '../base/format.ts';
import { span, type View } from '../base/view.ts';
import type { Paint, Palette } from './palette.ts';

export interface SliceStyle {
  paint(locationId: number): Paint;
  name(locationId: number): string;
  /** A slice that is drawn faint: it does not pass the filter. */
  faint?(locationId: number): boolean;
  sampled?: boolean;
  height: number;
  gap: number;
}

const TEXT_LEAST = 26;
const PAD = 4;
const widths = new Map<string, number>();

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** Name and duration if they fit, else the duration, else the name's beginning, else nothing. */
export function label(context: CanvasRenderingContext2D, name: string, time: string, room: number): string {
  const both = `${name} · ${time}`;
  if (widthOf(context, both) <= room) return both;
  if (widthOf(context, name) <= room) return name;
  if (time && widthOf(context, time) <= room) return time;
  let letters = Math.floor((name.length * room) / Math.max(widthOf(context, name), 1)) - 1;
  while (letters >= 3 && widthOf(context, `${name.slice(0, letters)}…`) > room) letters--; // wide letters come first
  return letters >= 3 ? `${name.slice(0, letters)}…` : '';
}

/** The first slice of each row; slices are sorted by row. */
function bounds(slices: Slices, from: number): [number, number] {
  // binary search would need row starts; rows are few, and the answer is small
  let low = 0;
  let high = slices.count;
  while (low < high && slices.start[low]! + slices.duration[low]! < from && slices.row[low] === slices.row[high - 1]) low++;
  return [low, high];
}

export function drawSlices(context: CanvasRenderingContext2D, slices: Slices, view: View, left: number, top: number, width: number, style: SliceStyle): void {
  const scale = width / span(view);
  const step = style.height + style.gap;
  const [first, end] = bounds(slices, view.from);
  const texts: number[] = [];
  let last: string | CanvasPattern = '';

  context.globalAlpha = 1;
  for (let i = first; i < end; i++) {
    const x0 = (slices.start[i]! - view.from) * scale;
    if (x0 > width) continue;
    const x1 = x0 + slices.duration[i]! * scale;
    if (x1 < 0) continue;
    const x = Math.max(x0, -2);
    const w = Math.max(Math.min(x1, width + 2) - x, 1);
    const y = top + slices.row[i]! * step;
    const paint = style.paint(slices.location[i]!);
    const flags = slices.flags[i]!;
    const faint = style.faint?.(slices.location[i]!) ?? false;

    if (flags & OUTLINE) {
      context.strokeStyle = typeof paint.fill === 'string' ? paint.fill : paint.ink;
      context.setLineDash([2, 2]);
      context.strokeRect(left + x + 0.5, y + 0.5, Math.max(w - 1, 1), style.height - 1);
      context.setLineDash([]);
      continue;
    }
    if (faint) context.globalAlpha = 0.25;
    if (paint.fill !== last) {
      context.fillStyle = paint.fill;
      last = paint.fill;
    }
    // what is merged is not solid: it stands for several, with gaps
    const thin = flags & MERGED && w > 3 && !style.sampled ? 0.72 : 1;
    if (thin < 1) context.globalAlpha *= thin;
    // a sampled call is its edge; one without room for an edge would not be seen
    if (style.sampled && w <= 3) {
      context.fillStyle = last = paint.edge;
      context.globalAlpha *= 0.4;
    }
    // leave a hairline between neighbours that are wide enough
    context.fillRect(left + x, y, w > 3 ? w - 1 : w, style.height);
    if (style.sampled && w > 3) {
      context.strokeStyle = paint.edge;
      context.strokeRect(left + x + 0.5, y + 0.5, w - 2, style.height - 1);
    } else if (paint.edge && w > 4) {
      context.strokeStyle = paint.edge;
      context.strokeRect(left + x + 0.5, y + 0.5, w - 2, style.height - 1);
    }
    if (flags & UNFINISHED) openEnd(context, left + x, y, w, style.height, paint);
    context.globalAlpha = 1;
    if (w >= TEXT_LEAST && !faint && (style.sampled || !(flags & MERGED))) texts.push(i);
  }
  context.textBaseline = 'middle';
  for (const i of texts) {
    const x0 = Math.max((slices.start[i]! - view.from) * scale, 0);
    const x1 = Math.min((slices.start[i]! - view.from + slices.duration[i]!) * scale, width);
    const time = duration(slices.duration[i]!) + (slices.flags[i]! & UNFINISHED ? ' so far' : '');
    const text = label(context, style.name(slices.location[i]!), style.sampled ? '' : time, x1 - x0 - 2 * PAD);
    if (!text) continue;
    context.fillStyle = style.paint(slices.location[i]!).ink;
    context.fillText(text.replace(/ · $/, ''), left + x0 + PAD, top + slices.row[i]! * step + style.height / 2 + 0.5);
  }
}

/** It never ended: the right end fades and is dashed. */
function openEnd(context: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, paint: Paint): void {
  context.save();
  context.strokeStyle = paint.ink;
  context.globalAlpha = 0.7;
  context.setLineDash([3, 3]);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 1), h - 1);
  context.restore();
}

/** Which slice is at this place; -1: none. */
export function sliceAt(slices: Slices, view: View, width: number, x: number, row: number): number {
  const scale = width / span(view);
  let best = -1;
  for (let i = 0; i < slices.count; i++) {
    if (slices.row[i] !== row) continue;
    const x0 = (slices.start[i]! - view.from) * scale;
    const x1 = x0 + Math.max(slices.duration[i]! * scale, 1);
    if (x >= x0 - 1.5 && x <= x1 + 1.5 && (best < 0 || slices.duration[i]! < slices.duration[best]!)) best = i;
  }
  return best;
}

export function drawStates(context: CanvasRenderingContext2D, states: Slices, view: View, left: number, top: number, width: number, height: number, palette: Palette): void {
  const scale = width / span(view);
  for (let i = 0; i < states.count; i++) {
    const x0 = Math.max((states.start[i]! - view.from) * scale, 0);
    const x1 = Math.min((states.start[i]! - view.from + states.duration[i]!) * scale, width);
    if (x1 <= 0 || x0 >= width) continue;
    context.fillStyle = palette.states[Math.min(states.location[i]!, 2)]!;
    context.fillRect(left + x0, top, Math.max(x1 - x0, 0.7), height);
  }
}
