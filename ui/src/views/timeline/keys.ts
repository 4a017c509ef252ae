// SPDX-License-Identifier: Apache-2.0
// Keys of the timeline.
import { useEffect } from 'preact/hooks';
import { isTyping } from '../../base/typing.ts';
import type { Signal } from '../../base/signal.ts';
import { pan, span, zoom } from '../../base/view.ts';
import type { Arrow } from '../../api/types.ts';
import { arrowsAt, type FlowArrows } from '../../data/flows.ts';
import type { State } from '../../data/state.ts';
import type { Choices } from './layout.ts';
import type { Motion } from './motion.ts';
import { child, neighbour } from './neighbours.ts';

export interface KeyTarget {
  state: State;
  motion: Motion;
  focused: Signal<string>;
  arrows: FlowArrows;
  change: (change: (choices: Choices) => void) => void;
  width: number;
}

export async function step(state: State, where: 'previous' | 'next' | 'slower'): Promise<void> {
  const selected = state.selection.value;
  if (!selected) return;
  const details = await state.source.slice(selected.slice);
  const other = details.same?.[where] ?? null;
  if (other === null) {
    state.say(where === 'slower' ? 'This is the slowest one.' : `There is no ${where} one.`);
    return;
  }
  await reveal(state, other);
}

export async function reveal(state: State, slice: number): Promise<void> {
  const details = await state.source.slice(slice);
  state.selection.set({ slice });
  const view = state.view.value;
  if (details.start < view.from || details.start + details.duration > view.to || details.duration < span(view) / 400) {
    const half = Math.max(span(view) / 2, details.duration * 0.7);
    const middle = details.start + details.duration / 2;
    const near = details.duration < span(view) / 400 ? Math.max(details.duration * 5, 200) : half;
    state.show({ from: middle - near, to: middle + near });
  }
}

/** To the other end of an arrow: the slice there, or at least the time. */
export async function goAlong(state: State, arrow: Arrow, direction: 1 | -1): Promise<void> {
  const end = direction > 0 ? arrow.to : arrow.from;
  if (end.slice !== null) {
    await reveal(state, end.slice).catch((trouble: unknown) => state.say(trouble instanceof Error ? trouble.message : String(trouble)));
    return;
  }
  const half = span(state.view.value) / 2;
  state.show({ from: end.ns - half, to: end.ns + half });
}

async function followFlow(state: State, arrows: FlowArrows, direction: 1 | -1): Promise<void> {
  const selected = state.selection.value;
  const next = selected && arrowsAt(arrows.chosen.value, selected.slice, direction)[0];
  const here = state.source.online ? '' : ' in this file';
  if (next) await goAlong(state, next, direction);
  else state.say(!selected ? 'Select a slice first to follow its flows.' : direction > 0 ? `No flow${here} leads on from here.` : `No flow${here} leads here.`);
}

type Kin = 'parent' | 'child' | 'before' | 'after';

async function goToKin(state: State, kin: Kin): Promise<void> {
  const selected = state.selection.value;
  if (!selected) return;
  const details = await state.source.slice(selected.slice);
  const other = kin === 'parent' ? details.parent : kin === 'child' ? await child(state.source, details) : await neighbour(state.source, details, kin === 'after' ? 1 : -1, state.length);
  if (other !== null) await reveal(state, other);
  else state.say({ parent: 'It has no parent.', child: 'It has no children.', before: 'Nothing is before it on its row.', after: 'Nothing is after it on its row.' }[kin]);
}

async function nextHit(state: State, direction: 1 | -1): Promise<void> {
  if (!state.hits.value.length) return;
  const view = state.view.value;
  const selected = state.selection.value ? (await state.source.slice(state.selection.value.slice)).start : (view.from + view.to) / 2;
  const answer = await state.source.next(state.hits.value, selected, direction);
  if (answer.id !== null) await reveal(state, answer.id);
}

async function fit(state: State, motion: Motion): Promise<void> {
  const selected = state.selection.value;
  if (!selected) {
    motion.go({ from: 0, to: state.length });
    return;
  }
  const { start, duration } = await state.source.slice(selected.slice);
  motion.go({ from: start - duration * 0.1, to: start + duration * 1.1 });
}

async function measure(state: State): Promise<void> {
  const selected = state.selection.value;
  if (!selected) return;
  const { start, duration } = await state.source.slice(selected.slice);
  state.range.set({ from: start, to: start + duration });
}

export function useTimelineKeys(target: KeyTarget): void {
  const { state, motion, focused, change } = target;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey) return;
      const view = motion.target;
      const middle = state.cursor.value ?? (view.from + view.to) / 2;
      const part = span(view) * (event.shiftKey ? 1 : 0.2);
      const go = (by: number) => motion.go(pan(view, by, state.length));
      const id = focused.value;
      switch (event.key) {
        case 'w':
        case 'W':
        case '+':
        case '=':
          motion.go(zoom(view, 0.6, middle, state.length));
          break;
        case 's':
        case 'S':
        case '-':
          motion.go(zoom(view, 1 / 0.6, middle, state.length));
          break;
        case 'a':
        case 'A':
        case 'ArrowLeft':
          go(-part);
          break;
        case 'd':
        case 'D':
        case 'ArrowRight':
          go(part);
          break;
        case 'ArrowUp':
        case 'ArrowDown':
          if (!event.altKey) return;
          void goToKin(state, event.key === 'ArrowUp' ? 'parent' : 'child');
          break;
        case 'f':
        case 'F':
          void fit(state, motion);
          break;
        case 'm':
        case 'M':
          void measure(state);
          break;
        case 'Escape':
          if (state.range.value) state.range.set(null);
          else state.selection.set(null);
          break;
        case 'q':
        case 'Q':
          void goToKin(state, 'before');
          break;
        case 'e':
        case 'E':
          void goToKin(state, 'after');
          break;
        case '<':
          void followFlow(state, target.arrows, -1);
          break;
        case '>':
          void followFlow(state, target.arrows, 1);
          break;
        case 'r':
        case 'R':
          state.flows.set(!state.flows.value);
          state.say(state.flows.value ? 'Arrows of all visible flows' : 'Arrows of the selection only');
          break;
        case '[':
          void step(state, 'previous');
          break;
        case ']':
          void step(state, 'next');
          break;
        case '.':
          void step(state, 'slower');
          break;
        case 'n':
        case 'N':
          void nextHit(state, event.shiftKey ? -1 : 1);
          break;
        case 't':
        case 'T': {
          const models = state.meta.models.map((model) => model.id);
          const now = state.model.value === null ? -1 : models.indexOf(state.model.value);
          state.model.set(models[now + 1] ?? null);
          state.say(state.model.value === null ? 'All models' : `Only ${state.meta.models[now + 1]!.name}`);
          break;
        }
        case 'p':
        case 'P':
          if (id) change((choices) => (choices.pinned.has(id) ? choices.pinned.delete(id) : choices.pinned.add(id)));
          break;
        case 'h':
        case 'H':
          if (id) change((choices) => choices.hidden.add(id));
          break;
        case 'g':
        case 'G':
          if (id) change((choices) => (choices.sampledCalls.has(id) ? choices.sampledCalls.delete(id) : choices.sampledCalls.add(id)));
          break;
        default:
          return;
      }
      event.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [state, motion, target.width]);
}
