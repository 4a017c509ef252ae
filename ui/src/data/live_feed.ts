// SPDX-License-Identifier: Apache-2.0
// The live page's state: what the stream brings, and what of it is shown. Pause and past are of the picture; the recording goes on.
import { LiveStream, type Link } from '../api/live.ts';
import type { Server } from '../api/client.ts';
import { batch, signal, type Signal } from '../base/signal.ts';
import { Live, apply } from './live.ts';
import { clampEdge, newestSecond, secondOf, type Pick } from './live_pick.ts';

export class LiveFeed {
  private readonly live = new Live();
  private readonly stream: LiveStream;
  /** Changes with every message. */
  readonly tick: Signal<number> = signal(0);
  readonly link: Signal<Link> = signal<Link>('connecting');
  /** The picture that stands still; null: it moves. */
  readonly frozen: Signal<Live | null> = signal<Live | null>(null);
  /** The second at the right edge of the graphs; null: now. */
  readonly edge: Signal<number | null> = signal<number | null>(null);
  /** Whether the table shows the newest row. */
  readonly atBottom: Signal<boolean> = signal(true);
  readonly pick: Signal<Pick | null> = signal<Pick | null>(null);
  readonly setup: Signal<boolean> = signal(false);
  readonly filter: Signal<string> = signal('');

  constructor(readonly server: Server) {
    this.stream = new LiveStream(
      server,
      (message) => {
        apply(this.live, message);
        this.tick.update((n) => n + 1);
      },
      (link) => this.link.set(link),
    );
  }

  /** What is to be drawn. */
  get shown(): Live {
    return this.frozen.value ?? this.live;
  }

  /** Whether the recording is over, also while the picture stands still. */
  get isOver(): boolean {
    return this.live.state === 'ended';
  }

  /** One stream for this tab, and none while nobody sees it. */
  begin(): void {
    const look = () => (document.hidden ? this.stream.disconnect() : this.stream.connect());
    document.addEventListener('visibilitychange', look);
    look();
  }

  get rightEdge(): number {
    return this.edge.value === null ? newestSecond(this.shown) : clampEdge(this.shown, this.edge.value);
  }

  get isFollowing(): boolean {
    return !this.frozen.value && this.edge.value === null && this.atBottom.value;
  }

  pause(): void {
    if (!this.frozen.value) this.frozen.set(this.live.copy());
  }

  /** Back to the present. */
  follow(): void {
    batch(() => {
      this.frozen.set(null);
      this.edge.set(null);
      this.atBottom.set(true);
    });
  }

  toggle(): void {
    if (this.isFollowing) this.pause();
    else this.follow();
  }

  /** Moves the graphs by whole seconds; at the newest one they follow again. */
  pan(seconds: number): void {
    const edge = clampEdge(this.shown, this.rightEdge + seconds);
    this.edge.set(edge >= newestSecond(this.shown) ? null : edge);
  }

  /** A second in the past stays where it is: the graphs stop under it. */
  pickSecond(second: number, category: number | null): void {
    batch(() => {
      this.pick.set({ kind: 'second', second, category });
      if (second < newestSecond(this.shown) - 1) this.edge.set(this.rightEdge);
    });
  }

  /** Lights the bars of these rows, and brings them into the picture. */
  pickRows(from: number, to: number, end: number): void {
    batch(() => {
      this.pick.set({ kind: 'rows', from: Math.min(from, to), to: Math.max(from, to) });
      const second = secondOf(this.shown, end);
      if (second <= this.rightEdge - 90 || second > this.rightEdge) this.edge.set(clampEdge(this.shown, second + 10));
    });
  }
}
