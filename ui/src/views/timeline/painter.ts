// SPDX-License-Identifier: Apache-2.0
// One frame of the tracks: what is in sight, from what the loader has.
import { type ProgramFunction, type Slices, type Values } from '../../api/types.ts';
import { toPixel } from '../../base/view.ts';
import { shortName } from '../../base/words.ts';
import type { Loader } from '../../data/loader.ts';
import type { State } from '../../data/state.ts';
import type { FlowArrows } from '../../data/flows.ts';
import { drawArrows } from '../../draw/arrows.ts';
import { drawGrid, drawRange } from '../../draw/axis.ts';
import { drawCounter, drawStacked, niceScale } from '../../draw/counter.ts';
import type { Paint, Palette } from '../../draw/palette.ts';
import { drawSlices, drawStates, type SliceStyle } from '../../draw/slices.ts';
import { placeArrows } from './arrows.ts';
import { GAP, SAMPLED_CALL, SLICE, STATE, type Lane, type Layout } from './layout.ts';

export interface Scene {
  state: State;
  loader: Loader;
  layout: Layout;
  palette: Palette;
  functions: ProgramFunction[] | null;
  arrows: FlowArrows;
  width: number;
  height: number;
  scroll: number;
}

const LABEL_FONT = '11px';

function styleOf(scene: Scene): SliceStyle {
  const { state, palette } = scene;
  const locations = state.meta.locations;
  const hits = state.search.value ? new Set(state.hits.value) : null;
  const model = state.model.value;
  const style: SliceStyle = {
    paint: (locationId) => palette.location(locations[locationId]),
    name: (locationId) => nameOf(locations[locationId]),
    height: SLICE - 1,
    gap: GAP + 1,
  };
  if (hits?.size || model !== null) style.faint = (locationId) => (hits?.size ? !hits.has(locationId) : false) || (model !== null && (locations[locationId]?.model ?? -1) >= 0 && locations[locationId]!.model !== model);
  return style;
}

function nameOf(of: { name: string; category: string; function: string } | undefined): string {
  if (!of) return '';
  if (!of.category) return of.name;
  return of.category === 'prepare-ep' ? 'Prepare' : of.category[0]!.toUpperCase() + of.category.slice(1);
}

/** Lanes of a function: what moves its data, and which device computes. */
function laneStyle(scene: Scene, lane: Lane, faint: SliceStyle['faint']): SliceStyle {
  const compute = lane.track.label === 'compute';
  const paint = scene.palette.device(compute ? lane.track.sub : 'copy');
  const device = lane.track.sub.replace(/ExecutionProvider.*/, '') || 'CPU';
  return { paint: () => paint, name: () => (compute ? device : 'data'), height: SLICE - 3, gap: GAP + 3, ...(faint ? { faint } : {}) };
}

const sampledCallNames = new WeakMap<ProgramFunction, string>();

function sampledCallName(of: ProgramFunction | undefined): string {
  if (!of) return '';
  let name = sampledCallNames.get(of);
  if (name === undefined) sampledCallNames.set(of, (name = shortName(of.name)));
  return name;
}

function sampledCallStyle(scene: Scene): SliceStyle {
  const { palette, functions } = scene;
  const paint: Paint = { fill: palette.sampledCallFill, ink: palette.ink2, edge: palette.sampledCallEdge };
  return { paint: () => paint, name: (functionId) => sampledCallName(functions?.[functionId]), sampled: true, height: SAMPLED_CALL, gap: GAP };
}

function drawCounterLane(context: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number): void {
  const { state, loader, palette, width } = scene;
  const view = state.view.value;
  if (lane.members.length > 1) {
    const series = lane.members.map((member) => loader.get('values', member.id, view, width) as Values | null).filter((values): values is Values => values !== null);
    const high = (lane.track.scale ?? 100) * lane.members.length;
    drawStacked(context, series, view, 0, top + 2, width, lane.height - 3, high, palette);
    return;
  }
  const values = loader.get('values', lane.track.id, view, width) as Values | null;
  if (!values) return;
  drawCounter(context, values, view, 0, top + 3, width, lane.height - 4, niceScale(values, lane.track.min, lane.track.max, lane.track.scale), palette);
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number, style: SliceStyle, sampledCalls: SliceStyle): void {
  const { state, loader, palette, width } = scene;
  const view = state.view.value;
  const id = lane.track.id;

  context.font = `${LABEL_FONT} ${palette.font}`;
  if (lane.track.kind === 'counter') {
    drawCounterLane(context, scene, lane, top);
    return;
  }
  if (lane.stateTop >= 0) {
    const states = loader.get('states', id, view, width) as Slices | null;
    if (states) drawStates(context, states, view, 0, top + lane.stateTop, width, STATE, palette);
  }
  if (lane.rows > 0) {
    const slices = loader.get('slices', id, view, width) as Slices | null;
    if (slices) {
      context.save();
      context.beginPath();
      context.rect(0, top, width, lane.sliceTop + lane.rows * (SLICE + GAP));
      context.clip();
      drawSlices(context, slices, view, 0, top + lane.sliceTop, width, lane.track.kind === 'lane' ? laneStyle(scene, lane, style.faint) : style);
      context.restore();
      drawSelection(context, scene, slices, lane, top);
    }
  }
  if (lane.sampledCallTop >= 0) {
    const shadows = loader.get('sampledCalls', id, view, width) as Slices | null;
    if (shadows) {
      context.save();
      context.beginPath();
      context.rect(0, top + lane.sampledCallTop, width, lane.sampledCallRows * (SAMPLED_CALL + GAP));
      context.clip();
      context.font = `10px ${palette.font}`;
      drawSlices(context, shadows, view, 0, top + lane.sampledCallTop - lane.sampledCallSkip * (SAMPLED_CALL + GAP), width, sampledCalls);
      context.restore();
    }
  }
}

function drawSelection(context: CanvasRenderingContext2D, scene: Scene, slices: Slices, lane: Lane, top: number): void {
  const selected = scene.state.selection.value?.slice;
  const view = scene.state.view.value;
  if (selected === undefined) return;
  for (let i = 0; i < slices.count; i++) {
    if (slices.id[i] !== selected || slices.row[i]! >= lane.rows) continue;
    const x0 = toPixel(view, slices.start[i]!, scene.width);
    const x1 = toPixel(view, slices.start[i]! + slices.duration[i]!, scene.width);
    context.strokeStyle = scene.palette.accent;
    context.lineWidth = 2;
    context.strokeRect(x0 - 1, top + lane.sliceTop + slices.row[i]! * (SLICE + GAP) - 1, Math.max(x1 - x0, 2) + 2, SLICE + 1);
    context.lineWidth = 1;
  }
}

function drawFlows(context: CanvasRenderingContext2D, scene: Scene): void {
  const { state, loader, layout, arrows, width, height, scroll } = scene;
  const chosen = arrows.chosen.value;
  const inSight = arrows.inSight.value.arrows;
  if (!chosen.length && !inSight.length) return;
  const view = state.view.value;
  const slicesOf = (track: string) => loader.get('slices', track, view, width) as Slices | null;
  drawArrows(context, placeArrows({ chosen, inSight, slice: state.selection.value?.slice ?? null, layout, tracks: state.meta.tracks, view, width, scroll, slicesOf }), width, height, scene.palette);
}

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  const { state, layout, palette, width, height, scroll } = scene;
  const view = state.view.value;
  const style = styleOf(scene);
  const sampledCalls = sampledCallStyle(scene);

  context.fillStyle = palette.bg;
  context.fillRect(0, 0, width, height);
  drawGrid(context, view, 0, width, height, palette);
  for (const lane of layout.lanes) {
    const top = lane.top - scroll;
    if (top + lane.height < 0 || top > height) continue;
    drawLane(context, scene, lane, top, style, sampledCalls);
    context.fillStyle = lane.group ? palette.lineStrong : palette.line;
    context.fillRect(0, Math.round(top), width, 1);
  }
  drawFlows(context, scene);
  // before the trace began and after it ended there is nothing, which is not the same as idle
  context.fillStyle = palette.panel;
  const x0 = toPixel(view, 0, width);
  const x1 = toPixel(view, state.length, width);
  if (x0 > 0) context.fillRect(0, 0, x0, height);
  if (x1 < width) context.fillRect(x1, 0, width - x1, height);
  if (state.range.value) drawRange(context, state.range.value, view, 0, width, height, palette);
  if (state.cursor.value !== null) {
    context.fillStyle = palette.ink;
    context.fillRect(Math.round(toPixel(view, state.cursor.value, width)), 0, 1, height);
  }
}

