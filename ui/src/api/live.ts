// SPDX-License-Identifier: Apache-2.0
// A recording that goes on: the server's stream of messages, one JSON document a line. docs/server.md describes each field; times are ns since the trace's begin.
import { ApiError, type Server } from './client.ts';

export type LiveState = 'waiting' | 'live' | 'silent' | 'ended';

export interface LiveTotals {
  events: number;
  rows: number;
  thinned: number;
  zones: number;
  dropped: number;
  damaged: number;
  bytes: number;
}

export interface LiveInfo {
  program: string;
  pid: number;
  host: string;
  cpus: number;
  begin: number;
  created: string;
  path: string;
  temporary: boolean;
  runtimes: string[];
}

/** `median` is of the whole run; what ends in 90, `high` and `low` of the last 90 s. */
export interface LiveCategory {
  count: number;
  median: number | null;
  median90: number | null;
  high: number | null;
  low: number | null;
  count90: number;
  open: number;
  open_ns: number;
  models: number;
}

export interface LiveOpen {
  start: number;
  duration: number;
  model: number;
  category: number;
  thread: number;
  /** It may end on any thread; the one that it began on does other things. */
  async?: boolean;
  inside: string;
  function: string;
}

export interface LiveSeries {
  id: number;
  name: string;
  label: string;
  kind: string;
  unit: string;
  pid: number;
  scale: number | null;
}

export type LiveCategories = Record<string, LiveCategory> & { all: { count: number; median: number | null } };

export interface LiveMessage {
  schema: number;
  seq: number;
  full: boolean;
  generation: number;
  state: LiveState;
  why: string;
  now: number;
  first: number | null;
  totals: LiveTotals;
  info?: LiveInfo;
  categories?: LiveCategories;
  models?: { id: number; name: string; path: string; runtime: string }[];
  threads?: { id: number; tid: number; name: string; pid: number }[];
  /** second since `first`, category, count, sum, max, min */
  buckets?: number[][];
  /** number, start, duration, model, category, thread, zone */
  rows?: number[][];
  open?: LiveOpen[];
  series?: LiveSeries[];
  /** series, second since the begin, last, min, max */
  values?: number[][];
}

export interface Saved {
  path: string;
  temporary: boolean;
  kept: boolean;
  bytes: number;
}

export const keepTrace = (server: Server): Promise<Saved> => server.json<Saved>('/api/live/save?keep=1');

const LINE_MOST = 64 << 20;

/** Puts pieces of a stream together to lines. */
export class Lines {
  private rest = '';

  push(piece: string): string[] {
    const lines = (this.rest + piece).split('\n');
    this.rest = lines.pop()!;
    if (this.rest.length > LINE_MOST) throw new Error('truncated message from the server');
    return lines.filter((line) => line !== '');
  }
}

/** `hidden`: nobody looks, so nothing is sent. `gone`: it is tried again every 2 s. */
export type Link = 'connecting' | 'open' | 'gone' | 'hidden' | 'refused' | 'ended';

export const AGAIN_MS = 2000;

/** One stream at a time; begins anew, with everything, whenever it was interrupted. */
export class LiveStream {
  private stop: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over = false;

  constructor(
    private readonly server: Pick<Server, 'get'>,
    private readonly take: (message: LiveMessage) => void,
    private readonly tell: (link: Link) => void,
  ) {}

  connect(): void {
    if (this.over || this.stop) return;
    clearTimeout(this.timer);
    const stop = (this.stop = new AbortController());
    this.tell('connecting');
    this.read(stop.signal).then(
      () => this.lost(stop, null),
      (trouble: unknown) => this.lost(stop, trouble),
    );
  }

  disconnect(): void {
    clearTimeout(this.timer);
    if (this.over) return;
    this.stop?.abort();
    this.stop = null;
    this.tell('hidden');
  }

  private lost(stop: AbortController, trouble: unknown): void {
    if (this.stop !== stop) return; // ours, closed
    this.stop = null;
    stop.abort();
    if (this.over) return;
    if (trouble instanceof ApiError && trouble.status >= 400 && trouble.status < 500) {
      this.over = true;
      this.tell('refused');
      return;
    }
    this.tell('gone');
    this.timer = setTimeout(() => this.connect(), AGAIN_MS);
  }

  private async read(signal: AbortSignal): Promise<void> {
    const answer = await this.server.get('/api/live/stream', signal);
    const reader = answer.body!.getReader();
    const letters = new TextDecoder();
    const lines = new Lines();
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      for (const line of lines.push(value ? letters.decode(value, { stream: !done }) : '')) {
        const message = JSON.parse(line) as LiveMessage;
        this.take(message);
        if (message.state !== 'ended') this.tell('open');
        else {
          this.over = true;
          this.tell('ended');
          return;
        }
      }
      if (done) return;
    }
  }
}
