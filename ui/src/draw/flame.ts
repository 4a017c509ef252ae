// SPDX-License-Identifier: Apache-2.0
// A flame graph: boxes as wide as their samples, callers above what they call. Layout is kept apart from drawing; zooming only changes which part is on the screen.
import type { FlameNode } from '../api/types.ts';
import { percent } from '../base/format.ts';
import { shortName } from '../base/words.ts';
import type { Palette } from './palette.ts';

export const ROW = 20;

export interface FlameLayout {
  nodes: FlameNode[];
  left: Float64Array; // in samples from the left edge
  depth: Uint16Array;
  subtreeEnd: Uint32Array; // the node behind the last one inside it
  total: number;
  deepest: number;
}

/** Nodes come in preorder. What a node has beyond its children (itself) is at the right. */
export function layFlame(nodes: FlameNode[]): FlameLayout {
  const left = new Float64Array(nodes.length);
  const depth = new Uint16Array(nodes.length);
  const subtreeEnd = new Uint32Array(nodes.length);
  const used = new Float64Array(nodes.length);
  let total = 0;
  let deepest = 0;
  nodes.forEach((node, i) => {
    if (node.p < 0) {
      left[i] = total;
      total += node.v;
    } else {
      left[i] = left[node.p]! + used[node.p]!;
      used[node.p]! += node.v;
      depth[i] = depth[node.p]! + 1;
      deepest = Math.max(deepest, depth[i]!);
    }
    subtreeEnd[i] = i + 1;
  });
  for (let i = nodes.length - 1; i >= 0; i--) {
    const parent = nodes[i]!.p;
    if (parent >= 0) subtreeEnd[parent] = Math.max(subtreeEnd[parent]!, subtreeEnd[i]!);
  }
  return { nodes, left, depth, subtreeEnd, total, deepest };
}

export interface FlameView {
  layout: FlameLayout;
  zoomed: number; // this node takes the whole width; -1: all
  chosen: number;
  hovered: number;
  functionId: number; // boxes of this function are warm; -1: none
  found: ((name: string) => boolean) | null;
  from: number; // first depth that is drawn
  width: number;
}

interface Box {
  x: number;
  width: number;
}

function boxOf(view: FlameView, i: number): Box {
  const { layout, zoomed } = view;
  const from = zoomed < 0 ? 0 : layout.left[zoomed]!;
  const all = zoomed < 0 ? layout.total : layout.nodes[zoomed]!.v;
  const unit = view.width / Math.max(all, 1e-9);
  const x0 = Math.max(0, (layout.left[i]! - from) * unit);
  const x1 = Math.min(view.width, (layout.left[i]! + layout.nodes[i]!.v - from) * unit);
  return { x: x0, width: x1 - x0 };
}

const NARROW = 0.5;

/** Calls for each box that is seen, callers first. */
function eachBox(view: FlameView, see: (i: number, box: Box) => void): void {
  const { layout } = view;
  let i = 0;
  while (i < layout.nodes.length) {
    const box = boxOf(view, i);
    if (box.width < NARROW) {
      i = layout.subtreeEnd[i]!;
      continue;
    }
    see(i, box);
    i++;
  }
}

export function flameAt(view: FlameView, x: number, y: number): number {
  const depth = Math.floor(y / ROW) + view.from;
  let hit = -1;
  eachBox(view, (i, box) => {
    if (view.layout.depth[i] === depth && x >= box.x && x < box.x + box.width) hit = i;
  });
  return hit;
}

/** How many rows are seen below `from`. */
export function flameRows(view: FlameView): number {
  let deepest = 0;
  eachBox(view, (i) => (deepest = Math.max(deepest, view.layout.depth[i]!)));
  return deepest + 1 - view.from;
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 26) return '';
  if (context.measureText(text).width <= width) return text;
  const letters = Math.floor(text.length * (width / context.measureText(text).width)) - 1;
  return letters >= 3 ? `${text.slice(0, letters)}…` : '';
}

export function drawFlame(context: CanvasRenderingContext2D, view: FlameView, height: number, heat: string, palette: Palette): void {
  const { layout } = view;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  eachBox(view, (i, box) => {
    const y = (layout.depth[i]! - view.from) * ROW;
    if (y < 0 || y > height) return;
    const node = layout.nodes[i]!;
    const name = shortName(node.n);
    const lit = view.found?.(node.n) ?? false;
    const around = view.zoomed >= 0 && layout.depth[i]! < layout.depth[view.zoomed]!;
    const warm = node.f >= 0 && node.f === view.functionId;
    context.globalAlpha = view.found && !lit ? 0.35 : 1;
    context.fillStyle = around || node.n === '…' ? palette.resFill : palette.zone(name).fill;
    context.fillRect(box.x, y, Math.max(box.width - 1, 0.7), ROW - 1);
    if (warm || lit) {
      context.fillStyle = `rgba(${heat},${warm ? 0.42 : 0.3})`;
      context.fillRect(box.x, y, Math.max(box.width - 1, 0.7), ROW - 1);
    }
    if (node.i > 0.5) drawInferred(context, box, y, palette);
    context.font = `${warm || i === view.chosen ? '600 ' : ''}11px ${palette.font}`;
    const share = ` ${percent(node.v / layout.total)}`;
    const text = fitted(context, name + share, box.width - 10) === name + share ? name + share : fitted(context, name, box.width - 10);
    context.fillStyle = palette.ink;
    if (text) context.fillText(text, box.x + 5, y + ROW / 2);
    context.globalAlpha = 1;
    if (i === view.chosen || i === view.hovered) {
      context.strokeStyle = palette.accent;
      context.lineWidth = i === view.chosen ? 2 : 1;
      context.strokeRect(box.x + 1, y + 1, Math.max(box.width - 3, 1), ROW - 3);
      context.lineWidth = 1;
    }
  });
}

/** Frames whose way is not certain have a broken lower edge. */
function drawInferred(context: CanvasRenderingContext2D, box: Box, y: number, palette: Palette): void {
  context.fillStyle = palette.sampledCallEdge;
  for (let x = box.x; x < box.x + box.width - 1; x += 6) context.fillRect(x, y + ROW - 2, Math.min(3, box.x + box.width - 1 - x), 1);
}

/** Where keys go: up to the caller, down to the heaviest callee, left and right among siblings. */
export function flameStep(layout: FlameLayout, from: number, key: string): number {
  if (from < 0) return layout.nodes.length ? 0 : -1;
  const node = layout.nodes[from]!;
  if (key === 'ArrowUp') return node.p >= 0 ? node.p : from;
  if (key === 'ArrowDown') return layout.subtreeEnd[from]! > from + 1 ? from + 1 : from;
  if (key === 'ArrowRight') {
    const next = layout.subtreeEnd[from]!;
    return next < layout.nodes.length && layout.nodes[next]!.p === node.p ? next : from;
  }
  if (key === 'ArrowLeft') {
    let at = node.p < 0 ? 0 : node.p + 1;
    while (at < from && layout.subtreeEnd[at]! < from) at = layout.subtreeEnd[at]!;
    return at < from ? at : from;
  }
  return from;
}
