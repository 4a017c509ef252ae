// SPDX-License-Identifier: Apache-2.0
// What of each track is here. The last answer is drawn, stretched if need be, until a better one has come: a frame never waits.
import type { TraceSource, Window } from '../api/source.ts';
import type { Slices, Values } from '../api/types.ts';
import { span, type View } from '../base/view.ts';

export type Layer = 'slices' | 'states' | 'sampledCalls' | 'values';

interface Held {
  data: Slices | Values | null;
  /** What was asked for: [from, to) and how many ns a pixel is. */
  from: number;
  to: number;
  perPixel: number;
  stop: AbortController | null;
  asked: string;
  failed: string;
}

const AT_ONCE = 4; // browsers have six connections to a server, and one may be a live stream
const COARSE = 1.5; // zoomed in by more than this, it is asked again
const FINE = 3; // zoomed out by more

export class Loader {
  private readonly held = new Map<string, Held>();
  private readonly waiting: { key: string; run: () => Promise<void> }[] = [];
  private running = 0;

  constructor(private readonly source: TraceSource, private readonly length: number, private readonly changed: () => void) {}

  get idle(): boolean {
    return this.running === 0 && this.waiting.length === 0;
  }

  private covers(held: Held, view: View, px: number): boolean {
    const perPixel = span(view) / px;
    const from = Math.max(view.from, 0);
    const to = Math.min(view.to, this.length);
    return held.from <= from && held.to >= to && perPixel >= held.perPixel / COARSE && perPixel <= held.perPixel * FINE;
  }

  /** What there is to draw now; asks for better in the background. */
  get(layer: Layer, track: string, view: View, px: number): Slices | Values | null {
    const key = `${layer}:${track}`;
    let held = this.held.get(key);
    if (!held) {
      held = { data: null, from: 0, to: -1, perPixel: 1, stop: null, asked: '', failed: '' };
      this.held.set(key, held);
    }
    if (!this.covers(held, view, px)) this.ask(key, held, layer, track, view, px);
    return held.data;
  }

  error(layer: Layer, track: string): string {
    return this.held.get(`${layer}:${track}`)?.failed ?? '';
  }

  forget(): void {
    for (const held of this.held.values()) held.stop?.abort();
    this.held.clear();
    this.waiting.length = 0;
  }

  private ask(key: string, held: Held, layer: Layer, track: string, view: View, px: number): void {
    // the view and one of the same size on each side, so that panning has something to show
    const width = span(view);
    const from = Math.max(0, Math.floor(view.from - width));
    const to = Math.min(Math.ceil(this.length) + 1, Math.ceil(view.to + width));
    const window: Window = { from, to, px: Math.max(1, Math.round((px * (to - from)) / width)) };
    const asked = `${from}-${to}-${window.px}`;
    if (held.asked === asked) return;
    held.asked = asked;
    held.stop?.abort();
    const stop = new AbortController();
    held.stop = stop;
    const old = this.waiting.findIndex((job) => job.key === key);
    if (old >= 0) this.waiting.splice(old, 1);
    this.waiting.push({
      key,
      run: async () => {
        if (stop.signal.aborted) return;
        try {
          const data = await this.source[layer](track, window, stop.signal);
          if (stop.signal.aborted) return;
          Object.assign(held, { data, from, to, perPixel: width / px, failed: '', stop: null });
          this.changed();
        } catch (trouble) {
          if (stop.signal.aborted) return;
          held.failed = trouble instanceof Error ? trouble.message : String(trouble);
          held.asked = '';
          held.from = from;
          held.to = to;
          held.perPixel = width / px;
          this.changed();
        }
      },
    });
    this.next();
  }

  private next(): void {
    while (this.running < AT_ONCE) {
      const job = this.waiting.shift();
      if (!job) return;
      this.running++;
      void job.run().finally(() => {
        this.running--;
        this.next();
      });
    }
  }
}
