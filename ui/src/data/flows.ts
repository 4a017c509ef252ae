// SPDX-License-Identifier: Apache-2.0
// Arrows of flows: those of the selected slice, those in sight if they are wanted, and where the next step along a flow leads.
import type { TraceSource } from '../api/source.ts';
import type { Arrow, ArrowKind } from '../api/types.ts';
import { signal, type Signal } from '../base/signal.ts';
import { span, type View } from '../base/view.ts';

const PAUSE_MS = 120; // the view has to rest as long before its arrows are asked for
const FIRST: Record<ArrowKind, number> = { flow: 0, async: 1, wake: 2 };

/** What is before or behind a slice along its flows, the nearest of the most telling kind first. */
export function arrowsAt(arrows: Arrow[], slice: number, direction: 1 | -1): Arrow[] {
  const [here, there] = direction > 0 ? (['from', 'to'] as const) : (['to', 'from'] as const);
  const length = (arrow: Arrow) => Math.abs(arrow.to.ns - arrow.from.ns);
  return arrows.filter((arrow) => arrow[here].slice === slice && arrow[there].slice !== slice).sort((a, b) => FIRST[a.kind] - FIRST[b.kind] || length(a) - length(b));
}

export class FlowArrows {
  /** Arrows of the selected slice's flows. */
  readonly chosen: Signal<Arrow[]> = signal<Arrow[]>([]);
  readonly inSight: Signal<{ arrows: Arrow[]; leftOut: number }> = signal({ arrows: [] as Arrow[], leftOut: 0 });
  private slice: number | null = null;
  private seen: View | null = null;
  private stop: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly source: TraceSource) {}

  /** Arrows of this slice; an older question's answer is dropped. */
  choose(slice: number | null): void {
    if (slice === this.slice) return;
    this.slice = slice;
    this.chosen.set([]);
    if (slice === null) return;
    void this.source.flows({ slice }).then(
      (answer) => slice === this.slice && this.chosen.set(answer.arrows),
      () => undefined, // a server without flows
    );
  }

  /** All arrows of this view, once it rests; null: none are wanted. */
  look(view: View | null): void {
    clearTimeout(this.timer);
    if (!view) {
      this.stop?.abort();
      this.seen = null;
      if (this.inSight.value.arrows.length) this.inSight.set({ arrows: [], leftOut: 0 });
      return;
    }
    if (this.seen && this.seen.from === view.from && this.seen.to === view.to) return;
    this.timer = setTimeout(() => this.ask(view), this.seen ? PAUSE_MS : 0);
  }

  private ask(view: View): void {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.seen = view;
    const air = span(view) * 0.02;
    void this.source.flows({ from: view.from - air, to: view.to + air }, stop.signal).then(
      (answer) => !stop.signal.aborted && this.inSight.set({ arrows: answer.arrows, leftOut: answer.left_out }),
      () => undefined,
    );
  }
}
