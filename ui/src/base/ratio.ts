// SPDX-License-Identifier: Apache-2.0
// A logarithmic axis of ratios around 1, and where things are on it. All functions are pure.

export interface RatioAxis {
  /** The largest ratio on it; the smallest is its inverse. */
  most: number;
  marks: number[];
}

const STEPS: [number, number[]][] = [
  [1.12, [0.9, 0.95, 1, 1.05, 1.1]],
  [1.3, [0.8, 0.9, 1, 1.1, 1.2]],
  [2.2, [0.5, 0.7, 1, 1.4, 2]],
  [4.5, [0.25, 0.5, 1, 2, 4]],
  [11, [0.1, 0.3, 1, 3, 10]],
];

/** An axis that most of these fit on; a few that are far away may stay off it. */
export function ratioAxis(ratios: number[], threshold: number): RatioAxis {
  const far = ratios.filter((ratio) => ratio > 0 && Number.isFinite(ratio)).map((ratio) => Math.exp(Math.abs(Math.log(ratio)))).sort((a, b) => a - b);
  const wanted = Math.max(far[Math.floor((far.length - 1) * 0.8)] ?? 1, (1 + threshold) * 1.04);
  const [most, marks] = STEPS.find(([limit]) => limit >= wanted * 1.02) ?? STEPS[STEPS.length - 1]!;
  return { most, marks };
}

/** 0 to 1 across the axis; below 0 or above 1: off it. */
export function onAxis(axis: RatioAxis, ratio: number): number {
  if (!(ratio > 0)) return -1;
  return 0.5 + Math.log(ratio) / Math.log(axis.most) / 2;
}
