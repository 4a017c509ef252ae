// SPDX-License-Identifier: Apache-2.0
// A short stretch of a timeline that stands still: what a report on paper shows of the beginning.
import type { Meta, Slices, Track, Values } from '../api/types.ts';
import { moment } from '../base/format.ts';
import { ticks, toPixel, type View } from '../base/view.ts';
import { categoryName } from '../base/words.ts';
import { drawCounter, drawStacked, niceScale } from './counter.ts';
import type { Palette } from './palette.ts';
import { drawSlices, drawStates } from './slices.ts';

export interface StripLane {
  track: Track;
  label: string;
  kind: 'values' | 'slices' | 'states';
  values: Values[];
  slices: Slices | null;
}

const AXIS = 16;
const LABEL = 96;
const COUNTER = 30;
const SLICE = 17;
const STATE = 10;
const GAP = 8;
const ROWS_MOST = 4;

const tall = (lane: StripLane): number => (lane.kind === 'values' ? COUNTER : lane.kind === 'states' ? STATE : Math.min(Math.max(lane.slices?.rows ?? 1, 1), ROWS_MOST) * (SLICE + 1));

export const stripHeight = (lanes: StripLane[]): number => lanes.reduce((sum, lane) => sum + tall(lane) + GAP, AXIS + GAP / 2);

export function drawStrip(context: CanvasRenderingContext2D, lanes: StripLane[], view: View, meta: Meta, width: number, height: number, palette: Palette): void {
  const inner = width - LABEL;
  const { step, first, count } = ticks(view, inner, 90);
  context.font = `10px ${palette.font}`;
  context.textBaseline = 'alphabetic';
  context.textAlign = 'left';
  for (let i = 0; i < count; i++) {
    const x = LABEL + toPixel(view, first + i * step, inner);
    context.fillStyle = palette.grid;
    context.fillRect(Math.round(x), AXIS - 2, 1, height);
    context.fillStyle = palette.ink3;
    if (x + 40 < width) context.fillText(moment(first + i * step, step), x + 3, 10);
  }
  let top = AXIS;
  lanes.forEach((lane, i) => {
    const high = tall(lane);
    if (i && lanes[i - 1]!.kind !== lane.kind) {
      context.fillStyle = palette.line;
      context.fillRect(0, top, width, 1);
    }
    top += GAP / 2;
    context.save();
    context.beginPath();
    context.rect(0, top, LABEL - 8, high);
    context.clip();
    context.fillStyle = palette.ink2;
    context.font = `11px ${palette.font}`;
    context.textBaseline = 'middle';
    context.fillText(lane.label, 0, top + Math.min(high, SLICE) / 2 + (lane.kind === 'values' ? 6 : 0));
    context.restore();
    context.save();
    context.beginPath();
    context.rect(LABEL, top - 1, inner, high + 2);
    context.clip();
    if (lane.kind === 'values' && lane.values.length > 1) drawStacked(context, lane.values, view, LABEL, top, inner, high, (lane.track.scale ?? 100) * lane.values.length, palette);
    else if (lane.kind === 'values' && lane.values[0]) drawCounter(context, lane.values[0], view, LABEL, top, inner, high, niceScale(lane.values[0], lane.track.min, lane.track.max, lane.track.scale), palette);
    else if (lane.kind === 'states' && lane.slices) drawStates(context, lane.slices, view, LABEL, top, inner, high, palette);
    else if (lane.slices) {
      context.font = `500 10.5px ${palette.font}`;
      drawSlices(context, lane.slices, view, LABEL, top, inner, {
        paint: (locationId) => palette.location(meta.locations[locationId]),
        name: (locationId) => (meta.locations[locationId]?.category ? categoryName(meta.locations[locationId]!.category) : meta.locations[locationId]?.name ?? ''),
        height: SLICE,
        gap: 1,
      });
    }
    context.restore();
    top += high + GAP / 2;
  });
}
