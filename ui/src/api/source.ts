// SPDX-License-Identifier: Apache-2.0
// Where a trace comes from: a server (client.ts), or the page itself when it is a report that was mailed (embedded.ts).
import type { Annotated, Busy, Flame, FlameMode, Flows, Found, Json, Meta, Ops, Points, ProgramFunction, RangeStats, SampledStats, SliceDetails, Slices, Stats, SwitchRow, Values } from './types.ts';

export interface Window {
  from: number;
  to: number;
  px: number;
}

/** What samples and slices count. Absent: all. */
export interface Filter {
  from?: number;
  to?: number;
  model?: number;
  op?: string;
  thread?: string;
  q?: string;
}

export interface TraceSource {
  /** False: there is no server behind it; what is not embedded cannot be asked for. */
  readonly online: boolean;
  meta(): Promise<Meta>;
  slices(track: string, window: Window, stop?: AbortSignal): Promise<Slices>;
  states(track: string, window: Window, stop?: AbortSignal): Promise<Slices>;
  sampledCalls(track: string, window: Window, stop?: AbortSignal): Promise<Slices>;
  values(track: string, window: Window, stop?: AbortSignal): Promise<Values>;
  functions(): Promise<ProgramFunction[]>;
  busy(px: number): Promise<Busy>;
  slice(id: number): Promise<SliceDetails>;
  /** The file of an inference's inputs: only where SliceDetails names one. */
  inputs?(id: number): Promise<ArrayBuffer>;
  find(text: string): Promise<Found>;
  next(locations: number[], from: number, direction: 1 | -1): Promise<{ id: number | null; start: number }>;
  marks(locations: number[], px: number): Promise<{ marks: number[] }>;
  /** Of the filter, model and q count. */
  range(from: number, to: number, part: Filter): Promise<RangeStats>;
  /** Of a slice: all arrows of the flows that touch it. Of a stretch of time: those that reach into it. */
  flows(of: { slice: number } | { from: number; to: number }, stop?: AbortSignal): Promise<Flows>;
  stats(by: string, filter: Filter): Promise<Stats>;
  sampledStats(filter: Filter): Promise<SampledStats>;
  report(): Promise<Json>;
  runs(model: number): Promise<Points>;
  ops(model: number): Promise<Ops>;
  flame(filter: Filter, mode: FlameMode): Promise<Flame>;
  annotate(functionId: number, filter: Filter): Promise<Annotated>;
  memory(): Promise<Json>;
  switches(model: number): Promise<SwitchRow[]>;
}
