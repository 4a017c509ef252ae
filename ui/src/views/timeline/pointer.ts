// SPDX-License-Identifier: Apache-2.0
// What the mouse does on the tracks: wheel zooms at the cursor, drag pans, Shift + drag measures, click selects.
import { pan, span, toPixel, toTime, zoom } from '../../base/view.ts';
import type { State } from '../../data/state.ts';
import type { Motion } from './motion.ts';

export interface Target {
  /** The slice at this point of the tracks; null: none. */
  pick(x: number, y: number): { slice: number; start: number; duration: number; merged: number } | null;
  /** Edges of slices near the pointer, for ranges to snap to. */
  edges(x: number, y: number): number[];
}

const MOVED = 3;
const SNAP = 4;

export function snap(state: State, ns: number, edges: number[], width: number): number {
  const at = toPixel(state.view.value, ns, width);
  let best = ns;
  let least = SNAP;
  for (const edge of edges) {
    const away = Math.abs(toPixel(state.view.value, edge, width) - at);
    if (away < least) {
      least = away;
      best = edge;
    }
  }
  return best;
}

/** Handles the tracks' canvas; `ruler`: every drag measures. Returns what removes the handlers. */
export function handlePointer(element: HTMLElement, state: State, motion: Motion, target: Target, ruler: boolean): () => void {
  let drag: { kind: 'pan' | 'range'; x: number; y: number; from: number; moved: boolean; view: { from: number; to: number } } | null = null;
  const box = () => element.getBoundingClientRect();
  const at = (event: MouseEvent) => ({ x: event.clientX - box().left, y: event.clientY - box().top });
  const time = (x: number) => toTime(state.view.value, x, box().width);

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const { x } = at(event);
    const by = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const way = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : by;
      motion.go(pan(motion.target, (way / box().width) * span(motion.target), state.length), false);
      return;
    }
    const now = motion.target;
    const here = now.from + (x / box().width) * span(now);
    motion.go(zoom(now, Math.exp(Math.max(-240, Math.min(240, by)) / 320), here, state.length));
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { x, y } = at(event);
    element.setPointerCapture(event.pointerId);
    motion.stop();
    const measuring = ruler || event.shiftKey;
    drag = { kind: measuring ? 'range' : 'pan', x, y, from: measuring ? snap(state, time(x), target.edges(x, y), box().width) : 0, moved: false, view: state.view.value };
  };
  const move = (event: PointerEvent) => {
    const { x, y } = at(event);
    if (!drag) {
      state.cursor.set(time(x));
      return;
    }
    drag.moved ||= Math.abs(x - drag.x) > MOVED || Math.abs(y - drag.y) > MOVED;
    if (!drag.moved) return;
    if (drag.kind === 'pan') {
      motion.go({ from: drag.view.from - ((x - drag.x) / box().width) * span(drag.view), to: drag.view.to - ((x - drag.x) / box().width) * span(drag.view) }, false);
    } else {
      const here = snap(state, time(x), target.edges(x, y), box().width);
      state.range.set({ from: Math.max(0, Math.min(drag.from, here)), to: Math.min(state.length, Math.max(drag.from, here)) });
      state.cursor.set(here);
    }
  };
  const up = (event: PointerEvent) => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    const { x, y } = at(event);
    if (ruler) {
      state.range.set(null);
      return;
    }
    const hit = target.pick(x, y);
    state.selection.set(hit ? { slice: hit.slice } : null);
  };
  const leave = () => state.cursor.set(null);
  const twice = (event: MouseEvent) => {
    const { x, y } = at(event);
    const hit = target.pick(x, y);
    if (hit) motion.go({ from: hit.start - hit.duration * 0.1, to: hit.start + hit.duration * 1.1 });
  };

  element.addEventListener('wheel', wheel, { passive: false });
  element.addEventListener('pointerdown', down);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', up);
  element.addEventListener('pointercancel', up);
  element.addEventListener('pointerleave', leave);
  element.addEventListener('dblclick', twice);
  return () => {
    element.removeEventListener('wheel', wheel);
    element.removeEventListener('pointerdown', down);
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', up);
    element.removeEventListener('pointercancel', up);
    element.removeEventListener('pointerleave', leave);
    element.removeEventListener('dblclick', twice);
  };
}
