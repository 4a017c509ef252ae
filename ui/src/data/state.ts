// SPDX-License-Identifier: Apache-2.0
// What the page shows, as signals: every view reads these and no view talks to another. One trace at a time.
import type { TraceSource } from '../api/source.ts';
import type { Meta } from '../api/types.ts';
import { batch, signal, type Signal } from '../base/signal.ts';
import { clamp, type View } from '../base/view.ts';

export const PAGES = ['live', 'report', 'summary', 'timeline', 'models', 'operators', 'statistics', 'flame', 'source', 'memory', 'compare'] as const;
export type Page = (typeof PAGES)[number];

export interface Selection {
  slice: number;
}

export type Theme = 'light' | 'dark';

/** Names of settings in the address. */
export const SETTINGS = ['stats', 'group', 'find', 'node', 'functions', 'order', 'thread', 'op', 'rows', 'of', 'a', 'b', 'threshold', 'all'] as const;
export type Setting = (typeof SETTINGS)[number];
export type Settings = { readonly [name in Setting]?: string };

const sameView = (a: View | null, b: View | null): boolean => a === b || (a !== null && b !== null && a.from === b.from && a.to === b.to);

export class State {
  readonly page: Signal<Page>;
  readonly view: Signal<View>;
  /** The measured range, in ns; null: none. */
  readonly range: Signal<View | null> = signal<View | null>(null, sameView);
  readonly selection: Signal<Selection | null> = signal<Selection | null>(null, (a, b) => a?.slice === b?.slice);
  /** Time under the pointer; null: it is elsewhere. */
  readonly cursor: Signal<number | null> = signal<number | null>(null);
  /** Only this model's work (its id); null: all. */
  readonly model: Signal<number | null> = signal<number | null>(null);
  /** The function whose source is shown. */
  readonly functionId: Signal<number | null> = signal<number | null>(null);
  readonly search: Signal<string> = signal('');
  /** Locations that the search found. */
  readonly hits: Signal<number[]> = signal<number[]>([]);
  /** Whether all arrows of flows in sight are drawn, not only those of what is selected. */
  readonly flows: Signal<boolean> = signal(false);
  readonly theme: Signal<Theme> = signal<Theme>('light');
  /** How pages are set, where that is not as usual: grouping, order, what is compared. By the names in the address. */
  readonly settings: Signal<Settings> = signal<Settings>({}, (a, b) => JSON.stringify(a) === JSON.stringify(b));
  /** A sentence at the bottom for a few seconds. */
  readonly notice: Signal<string> = signal('');

  constructor(readonly source: TraceSource, readonly meta: Meta, readonly traceId: number) {
    this.page = signal<Page>(source.online ? 'summary' : 'report');
    this.view = signal<View>(clamp({ from: 0, to: meta.length_ns }, meta.length_ns), sameView);
  }

  get length(): number {
    return this.meta.length_ns;
  }

  /** What restricts statistics of events: the model, and the text if it is in the name of any. */
  get part(): { model?: number; q?: string } {
    const q = this.hits.value.length ? this.search.value.trim() : '';
    return { ...(this.model.value === null ? {} : { model: this.model.value }), ...(q ? { q } : {}) };
  }

  /** The same in words: "det, names with "conv""; empty if nothing is restricted. */
  get partWords(): string {
    const { model, q } = this.part;
    const words = model === undefined ? [] : [this.meta.models.find((one) => one.id === model)?.name ?? `model ${model}`];
    return [...words, ...(q ? [`names with “${q}”`] : [])].join(', ');
  }

  show(view: View): void {
    this.view.set(clamp(view, this.length));
  }

  fit(): void {
    this.show({ from: 0, to: this.length });
  }

  /** Goes to the timeline, with this much air around a stretch of time. */
  goTo(from: number, to: number, slice?: number): void {
    batch(() => {
      const air = Math.max((to - from) * 0.6, 50);
      this.page.set('timeline');
      this.show({ from: from - air, to: to + air });
      if (slice !== undefined) this.selection.set({ slice });
    });
  }

  async goToSlice(slice: number): Promise<void> {
    const details = await this.source.slice(slice);
    this.goTo(details.start, details.start + details.duration, slice);
  }

  /** An empty value is the usual one. */
  set(name: Setting, value: string): void {
    const { [name]: _, ...others } = this.settings.value;
    this.settings.set(value ? { ...others, [name]: value } : others);
  }

  openSource(functionId: number): void {
    batch(() => {
      this.functionId.set(functionId);
      this.page.set('source');
    });
  }

  say(words: string): void {
    this.notice.set(words);
  }
}
