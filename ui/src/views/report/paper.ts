// SPDX-License-Identifier: Apache-2.0
// On paper everything is light: the theme is turned while it prints, and canvases are drawn again in time.
import { useEffect } from 'preact/hooks';
import type { State } from '../../data/state.ts';

const frames = (n: number): Promise<void> => new Promise((done) => (n === 0 ? done() : requestAnimationFrame(() => void frames(n - 1).then(done))));

/** Gives what the button does. The browser's own command comes without notice: then only the style sheet turns. */
export function usePaper(state: State): () => void {
  useEffect(() => {
    let before: State['theme']['value'] | null = null;
    const begin = () => {
      if (state.theme.value === 'light') return;
      before = state.theme.value;
      document.documentElement.dataset['theme'] = 'light';
    };
    const end = () => {
      if (before) document.documentElement.dataset['theme'] = before;
      before = null;
    };
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, [state]);
  return () => {
    const theme = state.theme.value;
    state.theme.set('light');
    void frames(3).then(() => {
      window.print();
      state.theme.set(theme);
    });
  };
}
