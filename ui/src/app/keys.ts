// SPDX-License-Identifier: Apache-2.0
// Keys that work on every page. The timeline has more (views/timeline/keys.ts); both leave typing alone.
import { useEffect } from 'preact/hooks';
import { isTyping } from '../base/typing.ts';
import type { State } from '../data/state.ts';

export interface Actions {
  search(): void;
  help(): void;
  link(): void;
}

export function useKeys(state: Pick<State, 'theme'>, actions: Actions): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      switch (event.key) {
        case '/':
          event.preventDefault();
          actions.search();
          break;
        case '?':
          actions.help();
          break;
        case 'y':
        case 'Y':
          actions.link();
          break;
        case 'l':
        case 'L':
          state.theme.set(state.theme.value === 'dark' ? 'light' : 'dark');
          break;
      }
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}
