// SPDX-License-Identifier: Apache-2.0
// The colours of the style sheet, as canvases need them. Read again when the theme changes.
import type { ArrowKind, Category, TraceLocation } from '../api/types.ts';

export interface Paint {
  fill: string | CanvasPattern;
  ink: string;
  edge: string; // '' if the fill is enough
}

const CATEGORIES: Record<Exclude<Category, ''>, string> = { 'prepare-ep': 'prepare', specialization: 'specialization', load: 'load', setup: 'setup', inference: 'inference' };
const EDGED = new Set(['prepare', 'load']);

/** The same name has the same colour in every trace. */
export function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

export class Palette {
  readonly ink: string;
  readonly ink2: string;
  readonly ink3: string;
  readonly bg: string;
  readonly panel: string;
  readonly grid: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly range: string;
  readonly resLine: string;
  readonly resFill: string;
  readonly bad: string;
  readonly sampledCallEdge: string;
  readonly sampledCallFill: string;
  readonly font: string;
  readonly states: [string, string, string];
  readonly arrows: Record<ArrowKind, string>;
  readonly cores: string[];
  private readonly categories = new Map<string, Paint>();
  private readonly zones: Paint[];
  private readonly locations = new Map<TraceLocation, Paint>();

  constructor(readonly style: CSSStyleDeclaration, context: CanvasRenderingContext2D | null) {
    const get = (name: string) => style.getPropertyValue(name).trim();
    this.ink = get('--ink');
    this.ink2 = get('--ink-2');
    this.ink3 = get('--ink-3');
    this.bg = get('--bg');
    this.panel = get('--bg-panel');
    this.grid = get('--grid');
    this.line = get('--line');
    this.lineStrong = get('--line-strong');
    this.accent = get('--accent');
    this.accentSoft = get('--accent-soft');
    this.range = get('--range');
    this.resLine = get('--res-line');
    this.resFill = get('--res-fill');
    this.bad = get('--bad');
    this.sampledCallEdge = get('--sampled-call-edge');
    this.sampledCallFill = get('--sampled-call-fill');
    this.font = get('--font-ui');
    this.states = [get('--st-running'), get('--st-runnable'), get('--st-blocked')];
    this.arrows = { flow: get('--flow'), async: get('--flow-async'), wake: get('--flow-wake') };
    this.cores = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => get(`--core-${n}`));
    for (const name of Object.values(CATEGORIES)) {
      const fill = get(`--cat-${name}`);
      const edge = get(`--cat-${name}-edge`);
      const hatched = name === 'specialization' && context ? hatch(context, fill, edge) : null;
      this.categories.set(name, { fill: hatched ?? fill, ink: get(`--cat-${name}-ink`), edge: EDGED.has(name) ? edge : '' });
    }
    this.zones = [1, 2, 3, 4, 5].map((n) => ({ fill: get(`--zone-${n}`), ink: get('--zone-ink'), edge: '' }));
  }

  category(category: Category): Paint {
    return this.categories.get(CATEGORIES[category as Exclude<Category, ''>] ?? '') ?? this.zones[0]!;
  }

  zone(name: string): Paint {
    return this.zones[hash(name) % this.zones.length]!;
  }

  /** Where work ran: the first of a model's providers decides. */
  device(provider: string): Paint {
    const kind = /cuda|tensorrt|rocm|gpu|dml|webgpu/i.test(provider) ? 'gpu' : /qnn|npu|openvino|vitis|coreml/i.test(provider) ? 'npu' : provider === 'copy' ? 'copy' : 'cpu';
    const get = (name: string) => this.style.getPropertyValue(name).trim();
    return { fill: get(`--dev-${kind}`), ink: get(`--dev-${kind}-ink`) || this.ink, edge: '' };
  }

  location(of: TraceLocation | undefined): Paint {
    if (!of) return this.zones[0]!;
    let paint = this.locations.get(of);
    if (!paint) {
      if (of.category) paint = this.category(of.category);
      else if (of.color & 0x1000000) paint = { fill: `#${(of.color & 0xffffff).toString(16).padStart(6, '0')}`, ink: contrast(of.color), edge: '' };
      else paint = this.zone(of.owner ?? of.name);
      this.locations.set(of, paint);
    }
    return paint;
  }
}

function contrast(rgb: number): string {
  const light = 0.299 * ((rgb >> 16) & 255) + 0.587 * ((rgb >> 8) & 255) + 0.114 * (rgb & 255);
  return light > 140 ? '#14171c' : '#ffffff';
}

function hatch(context: CanvasRenderingContext2D, fill: string, edge: string): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  if (!pen) return null;
  pen.fillStyle = fill;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = edge;
  pen.lineWidth = 2;
  for (const x of [-8, 0, 8]) {
    pen.beginPath();
    pen.moveTo(x - 1, 9);
    pen.lineTo(x + 9, -1);
    pen.stroke();
  }
  return context.createPattern(tile, 'repeat');
}
