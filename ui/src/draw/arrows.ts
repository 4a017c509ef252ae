// SPDX-License-Identifier: Apache-2.0
// Arrows between slices of different rows: curves that leave and arrive level, with a head at the end.
import type { ArrowKind } from '../api/types.ts';
import type { Palette } from './palette.ts';

export interface PlacedArrow {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  kind: ArrowKind;
  /** Of what is selected; others are faint. */
  strong: boolean;
  /** Written in the middle; empty: nothing. */
  words: string;
}

const HEAD = 7;
const FAR = 4000; // pixels beyond the canvas at which a curve may as well end
const FAINT = 0.5;

/** The inner points of the curve: it leaves to the right and comes from the left, also when it goes back in time. */
export function bend(x0: number, x1: number): [number, number] {
  const by = Math.min(Math.max(Math.abs(x1 - x0) / 2, Math.min(18, 4 + Math.abs(x1 - x0))), 160);
  return [x0 + by, x1 - HEAD / 2 - by];
}

export function drawArrows(context: CanvasRenderingContext2D, arrows: PlacedArrow[], width: number, height: number, palette: Palette): void {
  context.save();
  context.font = `500 10.5px ${palette.font}`;
  context.textBaseline = 'middle';
  context.lineCap = 'round';
  for (const arrow of arrows) {
    const limit = (x: number) => Math.max(-FAR, Math.min(width + FAR, x));
    const [x0, x1] = [limit(arrow.x0), limit(arrow.x1)];
    const { y0, y1 } = arrow;
    if (Math.max(x0, x1) < -40 || Math.min(x0, x1) > width + 40 || Math.max(y0, y1) < -20 || Math.min(y0, y1) > height + 20) continue;
    const [c0, c1] = bend(x0, x1);
    context.globalAlpha = arrow.strong ? 1 : FAINT;
    context.strokeStyle = context.fillStyle = palette.arrows[arrow.kind];
    context.lineWidth = arrow.strong ? 2 : 1;
    context.setLineDash(arrow.kind === 'wake' ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(c0, y0, c1, y1, x1 - HEAD + 1, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x0, y0, arrow.strong ? 3 : 2, 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - HEAD, y1 - HEAD / 2);
    context.lineTo(x1 - HEAD, y1 + HEAD / 2);
    context.fill();
  }
  for (const arrow of arrows) if (arrow.words) drawWords(context, arrow, width, height, palette);
  context.restore();
}

/** On the middle of what can be seen of the curve, in a frame of its colour. */
function drawWords(context: CanvasRenderingContext2D, arrow: PlacedArrow, width: number, height: number, palette: Palette): void {
  const middle = (a: number, b: number, most: number) => (Math.max(0, Math.min(most, a)) + Math.max(0, Math.min(most, b))) / 2;
  const size = context.measureText(arrow.words).width + 12;
  const short = Math.abs(arrow.x1 - arrow.x0) < size + 24; // beside it then, not on it
  const begin = short ? Math.max(arrow.x0, arrow.x1) + 12 : middle(arrow.x0, arrow.x1, width) - size / 2;
  const x = Math.round(Math.max(2, Math.min(width - size - 2, begin)));
  const y = Math.round(middle(arrow.y0, arrow.y1, height));
  context.globalAlpha = 1;
  context.fillStyle = palette.bg;
  context.strokeStyle = palette.arrows[arrow.kind];
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(x, y - 8, size, 16, 4);
  context.fill();
  context.stroke();
  context.fillStyle = palette.ink;
  context.fillText(arrow.words, x + 6, y + 0.5);
}
