// SPDX-License-Identifier: Apache-2.0
// The graphs of the live page: one bar a second, on a linear or a logarithmic axis; what is open grows in hatched steps.
import { duration } from '../base/format.ts';
import type { Category } from '../api/types.ts';
import { roundMarks } from './histogram.ts';
import type { Palette } from './palette.ts';

export interface BarAxis {
  low: number; // logarithms, if `log`
  high: number;
  log: boolean;
  marks: { value: number; text: string }[];
}

const UNITS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
const unitOf = (ns: number): [number, string] => UNITS.find(([size]) => ns >= size * 0.9999) ?? UNITS[3]!;

/** From 0 to a little above the highest. The unit stands at the highest mark. */
export function linearAxis(highest: number): BarAxis {
  const high = (highest > 0 ? highest : 1e6) * 1.13;
  const values = roundMarks(0, high, 5).filter((value) => value > 0);
  const [size, name] = unitOf(values[values.length - 1] ?? high);
  return { low: 0, high, log: false, marks: values.map((value, i) => ({ value, text: `${Number((value / size).toPrecision(3))}${i === values.length - 1 ? `\u2009${name}` : ''}` })) };
}

/** Powers of ten, at least 10 ms to some seconds. The unit stands where it changes. */
export function logAxis(lowest: number, highest: number): BarAxis {
  const low = Math.min(7, lowest > 0 ? Math.floor(Math.log10(lowest) - 0.15) : 7);
  const high = Math.max(9.6, highest > 0 ? Math.log10(highest) + 0.3 : 0);
  const marks: { value: number; text: string }[] = [];
  const step = high - low > 5 ? 2 : 1;
  let before = '';
  for (let power = low; power <= high; power += step) {
    const [size, name] = unitOf(10 ** power);
    marks.push({ value: 10 ** power, text: name === before && name !== 's' ? String(Math.round(10 ** power / size)) : `${Math.round(10 ** power / size)}\u2009${name}` });
    before = name;
  }
  return { low, high, log: true, marks };
}

/** 0 at the bottom, 1 at the top; never outside. */
export function heightOf(axis: BarAxis, ns: number): number {
  const value = axis.log ? Math.log10(Math.max(ns, 1e-9)) : ns;
  return Math.min(Math.max((value - axis.low) / (axis.high - axis.low), 0), 1);
}

export interface BarPicture {
  category: Category;
  axis: BarAxis;
  max: ArrayLike<number>;
  growing: ArrayLike<number>;
  unfinished: number;
  median: number | null;
  lit: Set<number>; // by bar
  pointed: number; // -1: none
  /** Said in a box at the top: of the bar that is pointed at or lit. */
  says: string;
  notes: { bar: number; text: string }[];
  growsFor: { name: string; how: string } | null;
  /** Said where there is no bar at all. */
  nothing: string;
  /** Below the bars: the text for a distance from the right edge. */
  tick: (back: number) => string;
}

const LEFT = 52;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 22;

/** The bar under a place; -1: none. */
export function barAt(x: number, width: number, bars: number): number {
  const bar = Math.floor(((x - LEFT) / (width - LEFT - RIGHT)) * bars);
  return bar >= 0 && bar < bars ? bar : -1;
}

export function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, color: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1.4;
  context.beginPath();
  const shift = (x + y) % 6; // lines of neighbours go on in each other
  for (let i = x - height - 6 - shift; i < x + width + 6; i += 6) {
    context.moveTo(i, y + height);
    context.lineTo(i + height, y);
  }
  context.stroke();
  context.restore();
}

const NAMES: Record<string, string> = { 'prepare-ep': 'prepare' };
export const edgeOf = (palette: Palette, category: Category): string => palette.style.getPropertyValue(`--cat-${NAMES[category] ?? category}-edge`).trim();

interface Frame {
  left: number;
  right: number;
  bottom: number;
  step: number;
  y: (ns: number) => number;
}

function drawAxis(context: CanvasRenderingContext2D, { left, right, bottom, step, y }: Frame, picture: BarPicture, height: number, palette: Palette): void {
  const medianAt = picture.median === null ? NaN : y(picture.median);
  context.font = `10px ${palette.font}`;
  context.textBaseline = 'alphabetic';
  context.lineWidth = 1;
  for (const bar of picture.lit) {
    context.fillStyle = palette.accentSoft;
    context.fillRect(left + bar * step - 1, 8, step + 2, bottom - 8);
  }
  context.textAlign = 'right';
  for (const mark of picture.axis.marks) {
    const at = Math.round(y(mark.value));
    if (at < 6) continue;
    context.fillStyle = palette.grid;
    context.fillRect(left, at, right - left, 1);
    context.fillStyle = palette.ink3;
    if (!(Math.abs(at - medianAt) < 12)) context.fillText(mark.text, left - 6, at + 3.5);
  }
  context.fillStyle = palette.lineStrong;
  context.fillRect(left, bottom, right - left, 1);
  context.fillStyle = palette.ink3;
  context.textAlign = 'center';
  for (let back = 90; back >= 0; back -= 15) context.fillText(picture.tick(back), Math.min(right - back * step, right - 10), height - 8);
}

function drawGrowing(context: CanvasRenderingContext2D, { left, bottom, step, y }: Frame, picture: BarPicture, palette: Palette): void {
  const fill = palette.style.getPropertyValue(`--cat-${NAMES[picture.category] ?? picture.category}`).trim();
  const edge = edgeOf(palette, picture.category);
  let begin = -1;
  let top = bottom;
  for (let i = 0; i < picture.growing.length; i++) {
    const ns = picture.growing[i]!;
    if (!(ns > 0)) continue;
    const x = left + i * step + 1;
    const tall = Math.max(bottom - y(ns), 2);
    if (begin < 0) begin = i;
    top = bottom - tall;
    context.fillStyle = fill;
    context.globalAlpha = 0.28;
    context.fillRect(x, bottom - tall, step - 2, tall);
    context.globalAlpha = 1;
    hatch(context, x, bottom - tall, step - 2, tall, edge);
    context.strokeStyle = edge;
    context.lineWidth = 1;
    context.setLineDash([3, 2]);
    context.strokeRect(x + 0.5, bottom - tall + 0.5, step - 3, tall);
    context.setLineDash([]);
  }
  if (begin < 0 || !picture.growsFor) return;
  const inside = left + begin * step < left + 180;
  const x = inside ? left + begin * step + 8 : left + begin * step - 8;
  context.textAlign = inside ? 'left' : 'right';
  const texts: [string, string, string][] = [[`600 10.5px ${palette.font}`, palette.ink, picture.growsFor.name], [`10.5px ${palette.font}`, palette.ink2, picture.growsFor.how]];
  texts.forEach(([font, color, text], i) => {
    const at = Math.max(top + 12, 24) + i * 15;
    context.font = font;
    if (inside) {
      context.fillStyle = palette.bg;
      context.fillRect(x - 4, at - 11, context.measureText(text).width + 8, 15);
    }
    context.fillStyle = color;
    context.fillText(text, x, at);
  });
}

function drawSaid(context: CanvasRenderingContext2D, { left, right, step }: Frame, picture: BarPicture, palette: Palette): void {
  const bar = picture.pointed >= 0 ? picture.pointed : Math.max(-1, ...picture.lit);
  if (!picture.says || bar < 0) return;
  context.font = `600 10.5px ${palette.font}`;
  const width = context.measureText(picture.says).width + 14;
  const x = Math.min(Math.max(left + (bar + 0.5) * step - width / 2, left), right - width);
  context.fillStyle = palette.ink;
  context.beginPath();
  context.roundRect(x, 10, width, 18, 4);
  context.fill();
  context.fillStyle = palette.bg;
  context.textAlign = 'left';
  context.fillText(picture.says, x + 7, 22.5);
}

export function drawBars(context: CanvasRenderingContext2D, picture: BarPicture, width: number, height: number, palette: Palette): void {
  const bottom = height - BOTTOM;
  const bars = picture.max.length;
  const frame: Frame = { left: LEFT, right: width - RIGHT, bottom, step: (width - LEFT - RIGHT) / bars, y: (ns) => bottom - heightOf(picture.axis, ns) * (bottom - TOP) };
  const { left, right, step, y } = frame;
  const paint = palette.category(picture.category);

  drawAxis(context, frame, picture, height, palette);
  for (let i = 0; i < bars; i++) {
    const ns = picture.max[i]!;
    if (!(ns > 0)) continue;
    const x = left + i * step + 1;
    const tall = Math.max(bottom - y(ns), 1.5);
    context.globalAlpha = i === picture.unfinished ? 0.55 : 1;
    context.fillStyle = paint.fill;
    context.fillRect(x, bottom - tall, step - 2, tall);
    if (paint.edge) {
      context.strokeStyle = paint.edge;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, bottom - tall + 0.5, step - 3, tall);
    }
    context.globalAlpha = 1;
    if (picture.lit.has(i) || i === picture.pointed) {
      context.strokeStyle = palette.accent;
      context.lineWidth = picture.lit.has(i) ? 2 : 1;
      context.strokeRect(x - 0.5, bottom - tall - 0.5, step - 1, tall + 0.5);
    }
  }
  drawGrowing(context, frame, picture, palette);
  if (picture.nothing) {
    context.font = `11px ${palette.font}`;
    context.fillStyle = palette.ink3;
    context.textAlign = 'center';
    context.fillText(picture.nothing, (left + right) / 2, (TOP + bottom) / 2 - 6);
  }
  context.font = `10.5px ${palette.font}`;
  context.fillStyle = palette.ink2;
  context.textAlign = 'left';
  for (const note of picture.notes) context.fillText(note.text, left + (note.bar + 1) * step + 5, Math.max(y(picture.max[note.bar]!) + 9, 20));
  if (picture.median !== null) {
    const at = Math.round(y(picture.median)) + 0.5;
    context.strokeStyle = palette.ink;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(right, at);
    context.stroke();
    context.setLineDash([]);
    context.font = `600 10.5px ${palette.font}`;
    context.fillStyle = palette.ink;
    context.textAlign = 'right';
    context.fillText(duration(picture.median), left - 5, at + 3.5);
  }
  drawSaid(context, frame, picture, palette);
}
