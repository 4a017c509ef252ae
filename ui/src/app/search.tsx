// SPDX-License-Identifier: Apache-2.0
// The search box: names, models and functions; a hit goes to its first event, the marks of all are on the minimap.
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Found } from '../api/types.ts';
import { count, duration } from '../base/format.ts';
import type { State } from '../data/state.ts';
import { useSignal } from '../widgets/hooks.ts';

const PAUSE_MS = 120;

export function Search({ state, input }: { state: State; input: RefObject<HTMLInputElement> }) {
  const text = useSignal(state.search);
  const [found, setFound] = useState<Found | null>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    if (!text.trim()) {
      setFound(null);
      state.hits.set([]);
      return;
    }
    let late = false;
    const timer = setTimeout(() => {
      state.source.find(text.trim()).then(
        (answer) => {
          if (late) return;
          setFound(answer);
          state.hits.set(answer.hits.map((hit) => hit.location));
        },
        () => !late && setFound(null),
      );
    }, PAUSE_MS);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [text]);

  const first = found?.hits[0];
  const go = (slice: number) => {
    setOpen(false);
    void state.goToSlice(slice);
  };
  return (
    <div class="search" role="search" onFocusOut={(event) => !(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null) && setOpen(false)}>
      <svg viewBox="0 0 16 16" width="13" height="13" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
        <circle cx="7" cy="7" r="4.5" />
        <path d="M10.5 10.5L14 14" stroke-linecap="round" />
      </svg>
      <input
        ref={input}
        value={text}
        placeholder="Search names, models"
        aria-label="Search names and models"
        onFocus={() => setOpen(true)}
        onInput={(event) => (setOpen(true), state.search.set((event.target as HTMLInputElement).value))}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && first) go(first.first);
          if (event.key === 'Escape') {
            state.search.set('');
            (event.target as HTMLInputElement).blur();
          }
        }}
      />
      <kbd>/</kbd>
      {open && found && (
        <div class="found">
          {found.hits.length + found.models.length + found.functions.length === 0 && <p class="sub">Nothing has "{text}" in its name.</p>}
          {found.hits.slice(0, 12).map((hit) => (
            <button key={`l${hit.location}`} onClick={() => go(hit.first)}>
              <span>{hit.name}</span>
              <span class="sub">
                {hit.kind} · {count(hit.count)} × · {duration(hit.total_ns)}
              </span>
            </button>
          ))}
          {found.models.map((model) => (
            <button key={`m${model.id}`} onClick={() => (setOpen(false), state.model.set(model.id), state.page.set('models'))}>
              <span>{model.name}</span>
              <span class="sub">model</span>
            </button>
          ))}
          {found.functions.slice(0, 8).map((one) => (
            <button key={`f${one.function}`} onClick={() => (setOpen(false), state.openSource(one.function))}>
              <span class="mono">{one.name}</span>
              <span class="sub">function · {count(one.self)} samples</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
