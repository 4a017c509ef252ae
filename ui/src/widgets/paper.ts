// SPDX-License-Identifier: Apache-2.0
// On paper everything is light: while it prints the theme is turned, and canvases are drawn again before the browser takes them.
import { useEffect } from 'preact/hooks';

/** Charts draw at once when they hear this. */
export const PAINT_NOW = 'ifg-paint-now';

/** For pages that can be printed. */
export function usePaper(): void {
  useEffect(() => {
    const root = document.documentElement;
    let before: string | undefined;
    const turn = (theme: string) => {
      root.dataset['theme'] = theme;
      document.dispatchEvent(new Event(PAINT_NOW));
    };
    const begin = () => {
      if (before || root.dataset['theme'] !== 'dark') return; // light already, or printing
      before = 'dark';
      turn('light');
    };
    const end = () => {
      if (before) turn(before);
      before = undefined;
    };
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, []);
}
