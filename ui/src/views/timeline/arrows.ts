// SPDX-License-Identifier: Apache-2.0
// Where arrows of flows begin and end on the screen: the lane of a thread, or of what it is folded into, and the row of the slice.
import type { Arrow, ArrowEnd, Slices, Track } from '../../api/types.ts';
import { duration } from '../../base/format.ts';
import { toPixel, type View } from '../../base/view.ts';
import type { PlacedArrow } from '../../draw/arrows.ts';
import { GAP, SLICE, type Lane, type Layout } from './layout.ts';

export interface ArrowScene {
  chosen: Arrow[];
  inSight: Arrow[];
  /** The selected slice: arrows that touch it have words. */
  slice: number | null;
  layout: Layout;
  tracks: Track[];
  view: View;
  width: number;
  scroll: number;
  slicesOf: (track: string) => Slices | null;
}

const WORDS_MOST = 4;
const rowsOf = new WeakMap<Slices, { byId: Map<number, number>; first: number[] }>();

function index(slices: Slices): { byId: Map<number, number>; first: number[] } {
  let found = rowsOf.get(slices);
  if (!found) {
    found = { byId: new Map(), first: [] };
    for (let i = 0; i < slices.count; i++) {
      found.byId.set(slices.id[i]!, slices.row[i]!);
      for (let row = found.first.length; row <= slices.row[i]!; row++) found.first[row] = i;
    }
    found.first.push(slices.count);
    rowsOf.set(slices, found);
  }
  return found;
}

/** The row of the slice; of one that is drawn together with others, the deepest row that has something there. */
export function rowAt(slices: Slices, end: ArrowEnd): number {
  const { byId, first } = index(slices);
  const known = end.slice === null ? undefined : byId.get(end.slice);
  if (known !== undefined) return known;
  for (let row = first.length - 2; row > 0; row--) {
    let low = first[row]!;
    let high = first[row + 1]!;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (slices.start[middle]! <= end.ns) low = middle + 1;
      else high = middle;
    }
    if (low > first[row]! && slices.start[low - 1]! + slices.duration[low - 1]! >= end.ns) return row;
  }
  return 0;
}

/** The lane that shows a track, or the one it is folded into; null: it is hidden. */
export function laneOf(lanes: Map<string, Lane>, tracks: Map<string, Track>, id: string | null): Lane | null {
  for (let at: string | null | undefined = id, steps = 0; at && steps < 16; at = tracks.get(at)?.parent, steps++) {
    const lane = lanes.get(at);
    if (lane) return lane;
  }
  return null;
}

export function arrowWords(arrow: Arrow): string {
  const name = arrow.kind === 'wake' ? `woken${arrow.name ? ` by ${arrow.name}` : ''}` : arrow.name || arrow.kind;
  return `${name} · ${duration(arrow.to.ns - arrow.from.ns)}`;
}

export function placeArrows(scene: ArrowScene): PlacedArrow[] {
  const { layout, view, width, scroll } = scene;
  const lanes = new Map(layout.lanes.map((lane) => [lane.track.id, lane]));
  const tracks = new Map(scene.tracks.map((track) => [track.id, track]));
  const known = new Set(scene.chosen.map(keyOf));
  const place = (end: ArrowEnd): number | null => {
    const lane = laneOf(lanes, tracks, end.thread);
    if (!lane) return null;
    if (lane.track.id !== end.thread || lane.rows === 0) return lane.top + Math.min(lane.height, 24) / 2 - scroll;
    const slices = scene.slicesOf(lane.track.id);
    const row = Math.min(slices ? rowAt(slices, end) : 0, lane.rows - 1);
    return lane.top + lane.sliceTop + row * (SLICE + GAP) + SLICE / 2 - scroll;
  };
  const out: PlacedArrow[] = [];
  let words = 0;
  const add = (arrow: Arrow, strong: boolean): void => {
    if (Math.max(arrow.from.ns, arrow.to.ns) < view.from || Math.min(arrow.from.ns, arrow.to.ns) > view.to) return;
    const y0 = place(arrow.from);
    const y1 = place(arrow.to);
    if (y0 === null || y1 === null) return;
    const touches = strong && (arrow.from.slice === scene.slice || arrow.to.slice === scene.slice) && words < WORDS_MOST;
    if (touches) words++;
    out.push({ x0: toPixel(view, arrow.from.ns, width), y0, x1: toPixel(view, arrow.to.ns, width), y1, kind: arrow.kind, strong, words: touches ? arrowWords(arrow) : '' });
  };
  for (const arrow of scene.inSight) if (!known.has(keyOf(arrow))) add(arrow, false);
  for (const arrow of scene.chosen) add(arrow, true);
  return out;
}

const keyOf = (arrow: Arrow): string => `${arrow.kind} ${arrow.id} ${arrow.from.ns} ${arrow.to.ns} ${arrow.from.thread}`;
