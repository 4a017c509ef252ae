// SPDX-License-Identifier: Apache-2.0
// Zooming eases over 80 ms, unless the user asked for reduced motion.
import { clamp, type View } from '../../base/view.ts';
import type { State } from '../../data/state.ts';

const EASE_MS = 80;

export class Motion {
  private from: View;
  private to: View;
  private began = 0;
  private frame = 0;

  constructor(private readonly state: State) {
    this.from = this.to = state.view.value;
  }

  /** Where the view will be when all motion has ended: what the next step starts from. */
  get target(): View {
    return this.frame ? this.to : this.state.view.value;
  }

  go(view: View, ease = true): void {
    const target = clamp(view, this.state.length);
    if (!ease || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.stop();
      this.state.show(target);
      return;
    }
    this.from = this.state.view.value;
    this.to = target;
    this.began = performance.now();
    if (!this.frame) this.frame = requestAnimationFrame(this.step);
  }

  stop(): void {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  private step = (): void => {
    const part = Math.min((performance.now() - this.began) / EASE_MS, 1);
    const eased = 1 - (1 - part) ** 3;
    this.frame = 0;
    this.state.show({ from: this.from.from + (this.to.from - this.from.from) * eased, to: this.from.to + (this.to.to - this.from.to) * eased });
    if (part < 1) this.frame = requestAnimationFrame(this.step);
  };
}
