// SPDX-License-Identifier: Apache-2.0
// Requests to `inferogram serve`. The token is in the address' fragment, which browsers never send; it goes out in a header.
import { readPoints, readSlices, readValues } from './binary.ts';
import type { Filter, TraceSource, Window } from './source.ts';
import type { Annotated, Busy, Flame, FlameMode, Flows, Found, Json, Meta, Ops, ProgramFunction, RangeStats, SampledStats, SliceDetails, Stats, SwitchRow, Traces } from './types.ts';

/** The server's own sentence, and what kind of trouble it is. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly progress: number | null = null) {
    super(message);
  }
}

const LOADING_PAUSE_MS = 150;

export class Server {
  constructor(private readonly token: string) {}

  private async fetch(path: string, stop?: AbortSignal): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(path, { headers: { Authorization: `Bearer ${this.token}` }, signal: stop ?? null });
    } catch (trouble) {
      if (trouble instanceof DOMException && trouble.name === 'AbortError') throw trouble;
      throw new ApiError(0, 'the server does not answer');
    }
    if (answer.ok) return answer;
    let words = answer.statusText;
    let progress: number | null = null;
    try {
      const told = (await answer.json()) as { error?: string; progress?: number };
      words = told.error ?? words;
      progress = told.progress ?? null;
    } catch {
      // not JSON: the status says enough
    }
    throw new ApiError(answer.status, words, progress);
  }

  /** Waits while a trace is being read. */
  async get(path: string, stop?: AbortSignal, loading?: (progress: number) => void): Promise<Response> {
    for (;;) {
      try {
        return await this.fetch(path, stop);
      } catch (trouble) {
        if (!(trouble instanceof ApiError) || trouble.status !== 503) throw trouble;
        loading?.(trouble.progress ?? 0);
        await new Promise((resume) => setTimeout(resume, LOADING_PAUSE_MS));
      }
    }
  }

  async json<T>(path: string, stop?: AbortSignal): Promise<T> {
    return (await (await this.get(path, stop)).json()) as T;
  }

  traces = (): Promise<Traces> => this.json<Traces>('/api/traces');
  compare = (a: number, b: number, threshold: string): Promise<Json> => this.json<Json>(`/api/compare?a=${a}&b=${b}&threshold=${threshold}`);
  trace = (id: number, loading?: (progress: number) => void): TraceSource => new ServedTrace(this, id, loading);
}

export function query(values: Record<string, string | number | undefined>): string {
  const parts = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&');
}

export const filtered = (filter: Filter) => ({ t0: filter.from === undefined ? undefined : Math.floor(filter.from), t1: filter.to === undefined ? undefined : Math.ceil(filter.to), model: filter.model, op: filter.op, thread: filter.thread, q: filter.q });
const windowed = (track: string, window: Window) => ({ track, t0: Math.floor(Math.max(0, window.from)), t1: Math.ceil(Math.max(1, window.to)), px: Math.max(1, Math.round(window.px)) });

class ServedTrace implements TraceSource {
  readonly online = true;
  private known: Promise<ProgramFunction[]> | null = null;

  constructor(private readonly server: Server, private readonly id: number, private readonly loading?: (progress: number) => void) {}

  private path = (what: string, values: Record<string, string | number | undefined> = {}): string => {
    const text = query(values);
    return `/api/t/${this.id}/${what}${text ? `?${text}` : ''}`;
  };
  private json = <T>(what: string, values: Record<string, string | number | undefined> = {}, stop?: AbortSignal): Promise<T> => this.server.json<T>(this.path(what, values), stop);
  private bytes = async (what: string, values: Record<string, string | number | undefined>, stop?: AbortSignal): Promise<ArrayBuffer> => (await this.server.get(this.path(what, values), stop)).arrayBuffer();

  meta = async (): Promise<Meta> => (await (await this.server.get(this.path('meta'), undefined, this.loading)).json()) as Meta;
  slices = async (track: string, window: Window, stop?: AbortSignal) => readSlices(await this.bytes('lod', windowed(track, window), stop));
  states = async (track: string, window: Window, stop?: AbortSignal) => readSlices(await this.bytes('states', windowed(track, window), stop));
  sampledCalls = async (track: string, window: Window, stop?: AbortSignal) => readSlices(await this.bytes('sampled_calls', windowed(track, window), stop));
  values = async (track: string, window: Window, stop?: AbortSignal) => readValues(await this.bytes('counter', windowed(track, window), stop));
  functions = (): Promise<ProgramFunction[]> => (this.known ??= this.json<{ functions: ProgramFunction[] }>('functions').then((answer) => answer.functions));
  busy = (px: number) => this.json<Busy>('busy', { px });
  slice = (id: number) => this.json<SliceDetails>('slice', { id });
  inputs = (id: number) => this.bytes('inputs', { id });
  find = (text: string) => this.json<Found>('find', { q: text, limit: 50 });
  next = (locations: number[], from: number, direction: 1 | -1) => this.json<{ id: number | null; start: number }>('next', { locations: locations.slice(0, 200).join(','), from: Math.round(from), dir: direction });
  marks = (locations: number[], px: number) => this.json<{ marks: number[] }>('marks', { locations: locations.slice(0, 200).join(','), px });
  range = (from: number, to: number, part: Filter) => this.json<RangeStats>('range', filtered({ ...part, from, to }));
  flows = (of: { slice: number } | { from: number; to: number }, stop?: AbortSignal) => this.json<Flows>('flows', 'slice' in of ? of : filtered({ from: Math.max(0, of.from), to: Math.max(1, of.to) }), stop);
  stats = (by: string, filter: Filter) => this.json<Stats>('stats', { by, mode: 'instrumentation', ...filtered(filter) });
  sampledStats = (filter: Filter) => this.json<SampledStats>('stats', { by: 'function', mode: 'sampling', ...filtered(filter) });
  report = () => this.json<Json>('report');
  runs = async (model: number) => readPoints(await this.bytes('runs', { model }));
  ops = (model: number) => this.json<Ops>('ops', { model });
  flame = (filter: Filter, mode: FlameMode) => this.json<Flame>('flame', { ...filtered(filter), mode });
  annotate = (functionId: number, filter: Filter) => this.json<Annotated>('annotate', { function: functionId, ...filtered(filter) });
  memory = () => this.json<Json>('memory');
  switches = (model: number) => this.json<SwitchRow[]>('switches', { model });
}
