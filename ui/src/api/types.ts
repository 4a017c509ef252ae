// SPDX-License-Identifier: Apache-2.0
// What the server answers. docs/server.md describes each of these; times are ns since the trace's begin.

export type Category = '' | 'prepare-ep' | 'specialization' | 'load' | 'setup' | 'inference';

export interface TraceEntry {
  id: number;
  path: string;
  name: string;
  program: string;
  /** The command with its arguments. */
  title: string;
  /** When it was recorded, as ISO 8601; empty: not known. */
  start: string;
  state: 'ready' | 'loading' | 'bad' | 'idle';
  why: string;
  bytes: number;
  length_ns: number;
  progress: number;
}

export interface Traces {
  traces: TraceEntry[];
  version: string;
  live: boolean;
}

export interface TraceLocation {
  name: string;
  kind: string;
  category: Category;
  model: number;
  function: string;
  color: number;
  owner?: string; // of work of a device: whose colour it has
}

export type TrackKind = 'counter' | 'ml' | 'model' | 'function' | 'lane' | 'ops' | 'process' | 'thread' | 'async' | 'messages' | 'frames' | 'gpu' | 'npu';

export interface Track {
  id: string;
  kind: TrackKind;
  parent: string;
  label: string;
  sub: string;
  rows: number;
  unit: string;
  min: number;
  max: number;
  scale: number | null;
  stack: string;
  samples: number;
  states: boolean;
  count: number;
  model: number;
  open: boolean;
}

export interface Instrument {
  name: string;
  state: string;
  reason: string;
}

export interface ModelInfo {
  id: number;
  name: string;
  path: string;
  runtime: string;
  process: number;
}

export interface Meta {
  schema: number;
  program: string;
  title: string;
  pid: number;
  host: string;
  cpu: string;
  start: string;
  length_ns: number;
  runtimes: string[];
  zones: number;
  dropped: number;
  has: { samples: boolean; states: boolean; wakers: boolean; ops: boolean; memory: boolean; counters: boolean; flows?: boolean; device?: boolean };
  instruments: Instrument[];
  processes: { pid: number; name: string; arguments: string }[];
  models: ModelInfo[];
  locations: TraceLocation[];
  tracks: Track[];
}

export const UNFINISHED = 1;
export const MERGED = 2;
export const OUTLINE = 4;
export const INFERRED = 8;

/** Slices of a track at the level of detail of the screen, sorted by row, then start. */
export interface Slices {
  from: number;
  to: number;
  rows: number;
  count: number;
  start: Float64Array;
  duration: Float32Array;
  location: Uint32Array;
  merged: Uint32Array;
  id: Uint32Array;
  row: Uint16Array;
  flags: Uint8Array;
}

export interface Values {
  from: number;
  to: number;
  count: number;
  time: Float64Array;
  min: Float32Array;
  max: Float32Array;
  last: Float32Array;
}

export interface Points {
  length: number;
  count: number;
  start: Float64Array;
  duration: Float32Array;
  id: Uint32Array;
}

export interface ProgramFunction {
  name: string;
  module: string;
  guessed: boolean;
}

export interface SampledFunction {
  function: number;
  name: string;
  self: number;
  total: number;
}

export interface SliceDetails {
  id: number;
  name: string;
  location: number;
  kind: string;
  category: Category;
  model: number;
  function: string;
  start: number;
  duration: number;
  unfinished: boolean;
  thread: { track: string; name: string; tid: number };
  process: string;
  depth: number;
  parent: number | null;
  args: { key: string; value: string | number }[];
  children: { name: string; count: number; total_ns: number }[];
  same: { n: number; rank: number; median: number; p90: number; p99: number; min: number; max: number; previous: number | null; next: number | null; slower: number | null } | null;
  histogram: { from: number; to: number; bins: number[]; log: boolean };
  states: { running_ns: number; runnable_ns: number; blocked_ns: number } | null;
  samples: { n: number; functions: SampledFunction[] } | null;
  placement: { asked: string; nodes: { provider: string; nodes: number }[] } | null;
  inputs?: string;
}

export interface Found {
  hits: { location: number; name: string; kind: string; model: number; count: number; total_ns: number; first: number }[];
  models: { id: number; name: string }[];
  functions: { function: number; name: string; self: number }[];
}

export interface Busy {
  cpu: (number | null)[];
  categories: number[][];
  findings: { ns: number; severity: string }[];
}

export interface RangeStats {
  length_ns: number;
  rows: { name: string; kind: string; category: Category; model: number; count: number; total_ns: number; median_ns: number; max_ns: number }[];
  inferences: { n: number; open: number; median_ns: number; max_ns: number };
  /** All that pass the filter; total_ns is inside the range. */
  events: { n: number; total_ns: number; median_ns: number; max_ns: number };
  cpu: { busy_cores: number | null };
  functions: SampledFunction[];
}

/** flow: recorded or imported; wake: one thread woke the other; async: a span that ends elsewhere. */
export type ArrowKind = 'flow' | 'wake' | 'async';

export interface ArrowEnd {
  ns: number;
  /** The slice it is bound to; null: there was none. */
  slice: number | null;
  /** The id of its thread's track; null: it has none. */
  thread: string | null;
}

/** From one point of a flow to the next one. */
export interface Arrow {
  id: number;
  /** Which chain it is part of: ids may be used again. Null: of none. */
  flow: number | null;
  /** Of the flow or the span; of a wakeup, of the thread that woke. */
  name: string;
  kind: ArrowKind;
  from: ArrowEnd;
  to: ArrowEnd;
}

export interface Flows {
  arrows: Arrow[];
  left_out: number;
  kinds: ArrowKind[];
}

export interface StatsRow {
  name: string;
  kind?: string;
  category?: Category;
  unfinished?: number;
  model: string;
  count: number;
  total_ns: number;
  self_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  p50_ns: number;
  p90_ns: number;
  p99_ns: number;
  share: number;
  host_time?: boolean; // operators that a device ran: HOST_TIME
  device_ns?: number | null; // operators: how long devices were busy with them
  location: number; // -1: it stands for several
}

export interface SampledRow extends SampledFunction {
  module: string;
  file: string;
  line: number;
  guessed: boolean;
  under?: string; // of a function without a name: the nearest caller that has one
}

export interface Stats {
  range_ns?: number; // what shares are of
  rows: StatsRow[];
  row_count?: number; // how many there are, if not all were sent
}

export interface SampledStats {
  samples: number;
  hz?: number | null;
  lost?: number;
  rooted?: number;
  row_count?: number;
  rows: SampledRow[];
}

export interface Ops {
  runs: number;
  node_count: number;
  host_time?: boolean;
  device_per_run_ns?: number | null; // null: no work of devices was recorded
  types: { type: string; count: number; per_run_ns: number; device_per_run_ns?: number | null; share: number; provider: Record<string, number> }[];
  nodes: { name: string; type: string; provider: string | null; per_run_ns: number; device_per_run_ns?: number | null; share: number; location?: number }[];
}

export interface FlameNode {
  p: number;
  f: number;
  n: string;
  v: number;
  s: number;
  i: number;
}

export type FlameMode = 'merged' | 'time' | 'device';

export interface Flame {
  samples: number; // of a device: nanoseconds, as values are
  device?: boolean;
  nodes: FlameNode[];
}

export interface Annotated {
  name: string;
  module: string;
  start: string;
  size: number;
  samples: number;
  self: number;
  total: number;
  by_timer: boolean;
  why_no_code: string;
  code_count?: number; // how many instructions it has, if not all were sent
  guessed?: boolean;
  files: { path: string; lines: { line: number; text: string | null; self: number; total: number }[] }[];
  code: { a: string; b: string; t: string; s: number; l: [number, number] | null; j: boolean }[];
}

export interface SwitchRow {
  slice: number;
  start: number;
  duration: number;
  running_ns: number;
  runnable_ns: number;
  blocked_ns: number;
}

/** Documents of the command line's --json, described in docs/json.md. Views read what they know. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
