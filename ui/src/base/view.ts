// SPDX-License-Identifier: Apache-2.0
// The part of the time that is on the screen: from and to in ns since the trace's begin. All functions are pure.

export interface View {
  readonly from: number;
  readonly to: number;
}

/** Nothing shorter than this can be looked at: a tenth of a nanosecond a pixel is noise. */
export const SHORTEST = 100;

export const span = (view: View): number => view.to - view.from;

/** Kept inside [0, length], with a little air on both sides. */
export function clamp(view: View, length: number): View {
  const air = length * 0.02;
  let width = Math.min(Math.max(span(view), Math.min(SHORTEST, length)), length + 2 * air);
  if (!Number.isFinite(width) || width <= 0) width = length;
  let from = Number.isFinite(view.from) ? view.from : 0;
  from = Math.min(Math.max(from, -air), length + air - width);
  return { from, to: from + width };
}

/** factor < 1 comes nearer. `at` stays where it is on the screen. */
export function zoom(view: View, factor: number, at: number, length: number): View {
  const width = Math.max(span(view) * factor, SHORTEST);
  const part = span(view) > 0 ? (at - view.from) / span(view) : 0.5;
  return clamp({ from: at - part * width, to: at + (1 - part) * width }, length);
}

export function pan(view: View, by: number, length: number): View {
  return clamp({ from: view.from + by, to: view.to + by }, length);
}

export const toPixel = (view: View, ns: number, width: number): number => ((ns - view.from) / span(view)) * width;
export const toTime = (view: View, px: number, width: number): number => view.from + (px / width) * span(view);

/** Marks of an axis at round times: the step, and the first one at or behind the view's begin. */
export function ticks(view: View, width: number, apart = 90): { step: number; first: number; count: number } {
  const least = (span(view) * apart) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least) ?? 10 * power;
  const first = Math.ceil(view.from / step) * step;
  return { step, first, count: Math.max(0, Math.floor((view.to - first) / step) + 1) };
}
