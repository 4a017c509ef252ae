// SPDX-License-Identifier: Apache-2.0
// Plots of a benchmark: samples in order, and their cumulative distribution.
import { count, duration } from '../base/format.ts';
import { roundMarks } from './histogram.ts';
import type { Palette } from './palette.ts';

export interface SampleBlock {
  process: number;
  first: number;
  count: number;
  disturbed: boolean;
}

const LEFT = 56;
const BOTTOM = 18;
const TOP = 10;

/** Samples in ns as dots; a line where a new process begins, grey behind blocks in which something disturbed. */
export function drawSamples(context: CanvasRenderingContext2D, samples: number[], blocks: SampleBlock[], median: number, width: number, height: number, palette: Palette): void {
  const inner = width - LEFT - 6;
  const tall = height - BOTTOM - TOP;
  const sorted = [...samples].sort((a, b) => a - b);
  const least = sorted[0] ?? 0;
  const most = sorted[sorted.length - 1] ?? 1;
  const log = most > 6 * Math.max(least, 1);
  const high = most * 1.04;
  const low = log ? Math.max(least, 1) / 1.1 : 0;
  const part = (ns: number): number => (log ? Math.log(ns / low) / Math.log(high / low) : (ns - low) / (high - low));
  const y = (ns: number): number => TOP + tall - part(Math.max(ns, log ? low : 0)) * tall;
  const x = (i: number): number => LEFT + ((i + 0.5) / Math.max(samples.length, 1)) * inner;

  context.font = `10px ${palette.font}`;
  context.textBaseline = 'middle';
  context.fillStyle = palette.panel;
  for (const block of blocks) if (block.disturbed) context.fillRect(x(block.first - 0.5), TOP, (block.count / samples.length) * inner, tall);
  context.textAlign = 'right';
  for (const mark of log ? logMarks(low, high) : roundMarks(low, high, 4)) {
    context.fillStyle = palette.grid;
    context.fillRect(LEFT, Math.round(y(mark)), inner, 1);
    context.fillStyle = palette.ink3;
    context.fillText(duration(mark), LEFT - 6, y(mark));
  }
  blocks.forEach((block, i) => {
    if (i === 0 || block.process === blocks[i - 1]!.process) return;
    context.fillStyle = palette.lineStrong;
    context.fillRect(Math.round(x(block.first - 0.5)), TOP, 1, tall);
  });
  const each = Math.min(Math.max((inner / Math.max(samples.length, 1)) * 0.7, 1.4), 4);
  context.fillStyle = palette.category('inference').fill;
  samples.forEach((ns, i) => context.fillRect(x(i) - each / 2, y(ns) - each / 2, each, each));
  context.fillStyle = palette.ink;
  for (let dash = LEFT; dash < LEFT + inner; dash += 6) context.fillRect(dash, Math.round(y(median)), 3, 1);
  context.textAlign = 'center';
  context.fillStyle = palette.ink3;
  for (const mark of roundMarks(0, samples.length, 6)) if (Number.isInteger(mark)) context.fillText(count(mark), Math.min(LEFT + (mark / samples.length) * inner, width - 12), height - 7);
}

function logMarks(low: number, high: number): number[] {
  const out: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) for (const m of [1, 2, 5]) if (m * power >= low && m * power <= high) out.push(m * power);
  return out.filter((_, i) => out.length < 7 || i % 2 === 0);
}

/** Cumulative distribution of latency, with lines at the given shares. */
export function drawEcdf(context: CanvasRenderingContext2D, samples: number[], shares: [string, number, number | null][], width: number, height: number, palette: Palette): void {
  const sorted = [...samples].sort((a, b) => a - b);
  const inner = width - LEFT + 14;
  const left = LEFT - 20;
  const tall = height - BOTTOM - TOP;
  const from = sorted[0] ?? 0;
  const to = Math.max(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.995))] ?? 1, from + 1);
  const x = (ns: number): number => left + Math.min((ns - from) / (to - from), 1) * (inner - 10);
  const y = (share: number): number => TOP + tall - share * tall;

  context.font = `10px ${palette.font}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const share of [0, 0.5, 0.9, 1]) {
    context.fillStyle = palette.grid;
    context.fillRect(left, Math.round(y(share)), inner - 10, 1);
    context.fillStyle = palette.ink3;
    context.fillText(`${share * 100}\u2009%`, left - 5, y(share));
  }
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(left, y(0));
  sorted.forEach((ns, i) => {
    context.lineTo(x(ns), y(i / sorted.length));
    context.lineTo(x(ns), y((i + 1) / sorted.length));
  });
  context.stroke();
  context.lineWidth = 1;
  context.textAlign = 'center';
  context.fillStyle = palette.ink3;
  for (const mark of roundMarks(from, to, 4)) context.fillText(duration(mark), Math.min(Math.max(x(mark), left + 16), width - 20), height - 7);
  for (const [name, share, ns] of shares) {
    if (ns === null || ns > to) continue;
    context.fillStyle = palette.accent;
    context.beginPath();
    context.arc(x(ns), y(share), 3, 0, 7);
    context.fill();
    context.textAlign = x(ns) > left + inner * 0.7 ? 'right' : 'left';
    context.fillStyle = palette.ink2;
    context.fillText(`${name} ${duration(ns)}`, x(ns) + (x(ns) > left + inner * 0.7 ? -7 : 7), y(share) + 11);
  }
}

/** Two of them, A dashed and B solid, with their medians; sorted. */
export function drawTwoEcdfs(context: CanvasRenderingContext2D, a: number[], b: number[], width: number, height: number, palette: Palette): void {
  const left = LEFT - 20;
  const inner = width - left - 12;
  const tall = height - BOTTOM - TOP;
  const upTo = (sorted: number[]): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.98))]!;
  const from = Math.min(a[0]!, b[0]!);
  const to = Math.max(upTo(a), upTo(b), from + 1);
  const x = (ns: number): number => left + Math.min((ns - from) / (to - from), 1) * inner;
  const y = (share: number): number => TOP + tall - share * tall;

  context.font = `10px ${palette.font}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const share of [0, 0.5, 0.9, 1]) {
    context.fillStyle = palette.grid;
    context.fillRect(left, Math.round(y(share)), inner, 1);
    context.fillStyle = palette.ink3;
    context.fillText(`${share * 100}\u2009%`, left - 5, y(share));
  }
  context.textAlign = 'center';
  for (const mark of roundMarks(from, to, 5)) context.fillText(duration(mark), Math.min(Math.max(x(mark), left + 16), width - 24), height - 7);
  for (const [sorted, name, dashed] of [[a, 'A', true], [b, 'B', false]] as const) {
    const median = sorted[Math.floor(sorted.length / 2)]!;
    const other = sorted === a ? b : a;
    const behind = median > other[Math.floor(other.length / 2)]! || (sorted === a && median === other[Math.floor(other.length / 2)]!);
    const right = behind || x(median) < left + 70;
    const down = right && !behind ? 10 : -8; // beside the other one, if there is no room before it
    context.strokeStyle = dashed ? palette.ink2 : palette.ink;
    context.lineWidth = dashed ? 1.4 : 1.9;
    context.setLineDash(dashed ? [5, 4] : []);
    context.beginPath();
    context.moveTo(x(sorted[0]!), y(0));
    sorted.forEach((ns, i) => context.lineTo(x(ns), y((i + 1) / sorted.length)));
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
    context.textAlign = right ? 'left' : 'right';
    context.fillStyle = palette.ink;
    context.font = `600 11px ${palette.font}`;
    context.fillText(`${name}  ${duration(median)}`, x(median) + (right ? 9 : -9), y(0.5) + down);
    context.font = `10px ${palette.font}`;
  }
}
