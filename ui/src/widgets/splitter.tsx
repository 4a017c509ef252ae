// SPDX-License-Identifier: Apache-2.0
// A height that the user sets and this browser remembers.
import { useRef, useState } from 'preact/hooks';

export interface Height {
  height: number;
  set: (height: number) => void;
}

export function useHeight(name: string, first: number, least: number, most: () => number): Height {
  const key = `inferogram-${name}`;
  const [height, change] = useState(() => {
    try {
      const kept = Number(localStorage.getItem(key));
      return kept >= least ? kept : first;
    } catch {
      return first;
    }
  });
  return {
    height: Math.min(height, most()),
    set: (next) => {
      const kept = Math.round(Math.min(Math.max(next, least), most()));
      change(kept);
      try {
        localStorage.setItem(key, String(kept));
      } catch {
        // a browser that keeps nothing: it holds until the page is left
      }
    },
  };
}

const STEP = 16;

/** The edge above a panel at the bottom: drag it, or arrow keys; double click: as at first. */
export function Splitter({ size, first, label }: { size: Height; first: number; label: string }) {
  const drag = useRef<{ y: number; height: number } | null>(null);
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="horizontal"
      aria-label={label}
      aria-valuenow={size.height}
      tabIndex={0}
      onPointerDown={(event) => {
        drag.current = { y: event.clientY, height: size.height };
        (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => drag.current && size.set(drag.current.height + drag.current.y - event.clientY)}
      onPointerUp={() => (drag.current = null)}
      onDblClick={() => size.set(first)}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
        size.set(size.height + (event.key === 'ArrowUp' ? STEP : -STEP));
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}
