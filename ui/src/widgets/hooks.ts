// SPDX-License-Identifier: Apache-2.0
// How components read signals and ask the source.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Signal } from '../base/signal.ts';
import type { Setting, State } from '../data/state.ts';

/** The signal's value; the component is drawn again when it changes. */
export function useSignal<T>(of: Signal<T>): T {
  const [, draw] = useState(of.value);
  useEffect(() => {
    const look = () => draw(() => of.value);
    look(); // it may have changed since it was drawn: effects wait for the next frame
    return of.watch(look);
  }, [of]);
  return of.value;
}

/** How a page is set: kept in the address, so that a link and the way back show the same. */
export function useSetting<T extends string>(state: State, name: Setting, usual: T): [T, (value: T) => void] {
  const value = (useSignal(state.settings)[name] as T | undefined) ?? usual;
  return [value, (next) => state.set(name, next === usual ? '' : next)];
}

export interface Asked<T> {
  value: T | null; // the last answer stays until the next one is there
  error: string;
  busy: boolean;
}

/** Asks when `keys` change. A late answer to an older question is dropped. */
export function useAsk<T>(ask: () => Promise<T>, keys: unknown[]): Asked<T> {
  const [state, set] = useState<Asked<T>>({ value: null, error: '', busy: true });
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    set((old) => ({ ...old, busy: true }));
    ask().then(
      (value) => mine === turn.current && set({ value, error: '', busy: false }),
      (trouble: unknown) => mine === turn.current && set((old) => ({ value: old.value, error: trouble instanceof Error ? trouble.message : String(trouble), busy: false })),
    );
  }, keys);
  return state;
}
