// SPDX-License-Identifier: Apache-2.0
// A result file of `inferogram bench` (docs/json.md), as far as the page reads it. Times are milliseconds.
import type { Json } from './types.ts';

export interface Interval {
  low: number | null;
  high: number | null;
  method: string;
  needs: number;
}

export interface BenchRow {
  name: string;
  settings: string;
  available: boolean;
  reason: string;
  count: number;
  mean_ms: number | null;
  std_ms: number | null;
  min_ms: number | null;
  max_ms: number | null;
  p50_ms: number | null;
  p90_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  p999_ms: number | null;
  outliers: number;
  first_ms: number | null;
  start_ms: number | null;
  load_ms: number | null;
  specialization_ms: number | null;
  throughput_fps: number | null;
  steady: boolean;
  intervals: Record<string, Interval | number> | null;
  memory: { before_bytes: number; after_load_bytes: number; after_runs_bytes: number; peak_bytes: number; delta_bytes: number } | null;
  placement: { provider: string; nodes: number }[];
  operators: { name: string; op_type: string; provider: string; count: number; p50_ms: number; total_ms: number; share: number }[];
  operators_reason: string;
  operators_host_time?: boolean;
  trust: { level: string; reference_drift: number | null; lines: { name: string; level: string; value: number | null; unit: string; text: string }[] } | null;
  processes: { warmup: number; steady: boolean }[];
  blocks: { process: number; first: number; count: number; disturbed: boolean }[];
  raw_samples_ms: number[];
}

export interface Bench extends BenchRow {
  when: string;
  tool_version: string;
  interrupted: boolean;
  model: { name: string; hash: string; bytes: number; parameters: number; precision: string; opsets: string };
  runtime: { name: string; version: string };
  inputs: string;
  options: { command_line: string; iterations: number; processes: number; scenario: string; batch: number; threads: number };
  host: { name: string; cpu: string; cpus: number; kernel: string };
  definitions: Record<string, string>;
  rows?: BenchRow[];
}

export const asBench = (document: Json): Bench => document as unknown as Bench;
export const rowsOf = (bench: Bench): BenchRow[] => bench.rows ?? [bench];

/** A percentile of which there are samples enough, as in the text; the median always is. */
export function measured(row: BenchRow, key: keyof BenchRow & string): number | null {
  const what = key.replace('_ms', '');
  const needs = (row.intervals?.[what] as { needs?: number } | undefined)?.needs;
  return what !== 'p50' && needs && !intervalOf(row, what) ? null : (row[key] as number | null);
}

export function intervalOf(row: BenchRow, what: string): Interval | null {
  const found = row.intervals?.[what];
  return typeof found === 'object' && found !== null && found.low !== null && found.high !== null ? found : null;
}
