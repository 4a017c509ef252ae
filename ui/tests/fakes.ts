// SPDX-License-Identifier: Apache-2.0
// A trace for the tests, and a source whose answers come when the test says so.
import type { TraceSource, Window } from '../src/api/source.ts';
import type { Arrow, Flows, Meta, Slices, Track, Values } from '../src/api/types.ts';

export function track(id: string, more: Partial<Track> = {}): Track {
  return { id, kind: 'thread', parent: '', label: id, sub: '', rows: 1, unit: '', min: 0, max: 0, scale: null, stack: '', samples: 0, states: false, count: 1, model: -1, open: true, ...more };
}

export function meta(tracks: Track[] = [], length_ns = 1e9): Meta {
  return {
    schema: 1, program: 'app', title: 'app', pid: 1, host: 'here', cpu: '', start: '', length_ns, runtimes: [], zones: 0, dropped: 0,
    has: { samples: false, states: false, wakers: false, ops: false, memory: false, counters: false },
    instruments: [], processes: [], models: [], locations: [], tracks,
  };
}

export function slices(rows: [row: number, start: number, duration: number, location: number][]): Slices {
  const n = rows.length;
  return {
    from: 0, to: 1e9, rows: 1 + Math.max(-1, ...rows.map(([row]) => row)), count: n,
    start: Float64Array.from(rows, ([, start]) => start),
    duration: Float32Array.from(rows, ([, , duration]) => duration),
    location: Uint32Array.from(rows, ([, , , locationId]) => locationId),
    merged: new Uint32Array(n).fill(1),
    id: Uint32Array.from(rows, (_, i) => i),
    row: Uint16Array.from(rows, ([row]) => row),
    flags: new Uint8Array(n),
  };
}

export function values(points: [time: number, last: number][]): Values {
  const last = Float32Array.from(points, ([, value]) => value);
  return { from: 0, to: 1e9, count: points.length, time: Float64Array.from(points, ([time]) => time), min: last, max: last, last };
}

export interface Asked {
  layer: string;
  track: string;
  window: Window;
  stop: AbortSignal | undefined;
  answer: (data: Slices) => void;
  fail: (why: Error) => void;
}

/** Keeps every question until the test answers it. */
export class FakeSource {
  readonly asked: Asked[] = [];
  private ask = (layer: string) => (id: string, window: Window, stop?: AbortSignal): Promise<Slices> =>
    new Promise((answer, fail) => {
      this.asked.push({ layer, track: id, window, stop, answer, fail });
    });
  slices = this.ask('slices');
  states = this.ask('states');
  sampledCalls = this.ask('sampledCalls');
  values = this.ask('values');
  /** Questions for flows, as text, and what answers the last one. */
  readonly flowsAsked: string[] = [];
  answerFlows: (arrows: Arrow[], left_out?: number) => void = () => undefined;
  flows = (of: { slice: number } | { from: number; to: number }): Promise<Flows> =>
    new Promise((answer) => {
      this.flowsAsked.push('slice' in of ? `slice ${of.slice}` : `${of.from}-${of.to}`);
      this.answerFlows = (arrows, left_out = 0) => answer({ arrows, left_out, kinds: ['flow'] });
    });
  get source(): TraceSource {
    return this as unknown as TraceSource;
  }
}

/** Lets promises that are ready run. */
export const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
