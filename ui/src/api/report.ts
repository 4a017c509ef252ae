// SPDX-License-Identifier: Apache-2.0
// The document of `inferogram report --json` (docs/json.md), as far as the pages read it. Times that end in _ms are milliseconds.
import type { Json } from './types.ts';

export const CATEGORIES = ['prepare-ep', 'specialization', 'load', 'setup', 'inference'] as const;
export type EventCategory = (typeof CATEGORIES)[number];

export interface Events {
  count: number;
  first_ms: number | null;
  min_ms: number | null;
  median_ms: number | null;
  p90_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
  total_ms: number;
  share: number;
  failed: number;
  unfinished: number;
  perturbed: { count: number; included: boolean; total_ms: number; cost: number | null };
}

export interface ReportFunction {
  name: string;
  events: Record<EventCategory, Events>;
  request: { count: number; before_ms: number | null; inference_ms: number | null; after_ms: number | null };
}

export interface Placement {
  requested: string[];
  actual: string[];
  nodes: Record<string, number>;
  source: string;
  policy: string;
}

/** What the inferences of a model took of a device's energy, above idle power. */
export interface EnergyUse {
  device: string;
  joules_per_inference: number | null;
  low_j: number | null;
  high_j: number | null;
  inferences: number;
  seconds: number;
  shared: boolean;
  by_device_work?: boolean;
  upper_bound: boolean;
  reason: string;
}

export interface EnergyDevice {
  device: string;
  idle: string;
  idle_w: number | null;
}

export interface ReportModel {
  name: string;
  path: string;
  content_id: string;
  runtime: string;
  pid: number;
  inferred: string;
  file_bytes: number | null;
  options: string;
  specialization: string;
  loads: Record<string, number>;
  placement: Placement;
  functions: ReportFunction[];
  operators: { type: string; count: number; total_ms: number; self_ms: number; share: number }[];
  profiling: { inferences: number; operators: number; median_us: number | null; resolution_us: number | null; host_time?: boolean };
  energy?: EnergyUse[];
  device?: { text: string; idle_text: string };
  waiting?: { inferences: number; mean_ms: number; run_queue_ms: number; run_queue_share: number; blocked_ms: number; longest_run_queue_ms: number };
}

export interface Finding {
  id: string;
  severity: 'high' | 'medium' | 'low';
  model: string;
  title: string;
  evidence: { text: string; events: number[]; event_count: number; numbers: Record<string, number | null> };
  fix: string;
}

export interface MemorySpan {
  before_bytes: number | null;
  peak_bytes: number | null;
  after_bytes: number | null;
  delta_bytes: number | null;
  peak_ns: number | null;
  peak_within_ns: number | null;
  coarse: boolean;
}

export interface MemoryProcess extends MemorySpan {
  pid: number;
  name: string;
  values: number;
  after_load_bytes: number | null;
  anon_peak_bytes: number | null;
  peak_in: { model: string; category: string; number: number; op: string; zone: string };
}

export interface MemoryPhase extends MemorySpan {
  name: string;
  pid: number;
  model: string;
  category: string;
  part: string;
  zone: string;
  process: string;
  count: number;
  unpolled_count: number;
  coarse_count: number;
  delta_unknown: string | null;
  growth_bytes: number | null;
  growth_unknown: string | null;
  slice: number | null;
}

export interface HeapAmount {
  bytes: number;
  error_bytes: number;
  count: number;
}

export interface HeapHolder {
  peak: HeapAmount;
  all: HeapAmount;
  not_freed: HeapAmount;
}

export interface HeapFunction extends HeapHolder {
  name: string;
  guessed: boolean;
  under: string;
  module: string;
  stack: string[];
}

export interface Heap extends HeapHolder {
  peak_ns: number;
  lost: number;
  models: (HeapHolder & { model: string; category: string })[];
  operators: (HeapHolder & { name: string; model: string })[];
  threads: (HeapHolder & { tid: number; name: string })[];
  functions: HeapFunction[];
  inferences: { model: string; count: number; allocated_bytes_each: number; freed_bytes_each: number; error_bytes_each: number }[];
}

export interface MemoryReport {
  fine: boolean;
  resolution_ms: number | null;
  gaps: number | null;
  longest_gap_ms: number | null;
  cpu_s: number | null;
  processes: MemoryProcess[];
  phases: MemoryPhase[];
  heap?: Heap;
}

export interface Report {
  program: string;
  host: { cpu: string; cpus: number | null; virtual: boolean; load_average: number | null };
  duration_s: number;
  summary: string[];
  models: ReportModel[];
  pipeline: { requests: number; stages: { name: string; count: number; mean_ms: number; total_ms: number }[] };
  machine?: { energy: EnergyDevice[] };
  memory?: MemoryReport;
  findings: Finding[];
  drops: number;
  losses: { what: string; count: number }[];
  overhead: { recorder_cpu_s: number | null; recorder_cpu_share: number | null; operator_cost: number | null; operator_added_ms: number | null };
  instruments: { name: string; state: string; reason: string }[];
}

export const asReport = (document: Json): Report => document as unknown as Report;
/** The answer of `memory`: that part of the report, and values over time as [ns, value]. */
export interface MemoryDocument {
  memory: MemoryReport | null;
  series: { track: string; pid: number; name: string; points: [number, number][] }[];
}

export const asMemory = (document: Json): MemoryDocument => document as unknown as MemoryDocument;
