// SPDX-License-Identifier: Apache-2.0
// The document of `inferogram diff --json` (docs/json.md), as far as the page reads it.
import type { Category, Json } from './types.ts';

export type Verdict = 'SAME' | 'REGRESSED' | 'IMPROVED' | 'UNSURE' | 'NEW' | 'GONE';

export interface DiffSide {
  count: number;
  total_ns: number;
  median_ns: number;
  blocks: number;
}

export interface DiffRow {
  kind: string;
  name: string;
  model: string;
  function: string;
  category: Category;
  host_time?: boolean;
  a: DiffSide;
  b: DiffSide;
  verdict: Verdict;
  change: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  too_fine: boolean;
  significant: boolean;
  more: number;
}

export interface Diff {
  a: string;
  b: string;
  verdict: string;
  warning: string;
  threshold: number;
  floor_ns: number;
  common_change: number;
  counts: Record<Verdict, number>;
  differences: { what: string; a: string; b: string }[];
  rows: DiffRow[];
}

export const asDiff = (document: Json): Diff => document as unknown as Diff;
