// SPDX-License-Identifier: Apache-2.0
// The frame while a recording goes on: there is no trace to look into yet, so the live page is all there is. The other pages open when it has ended.
import { useEffect, useRef } from 'preact/hooks';
import { signal, type Signal } from '../base/signal.ts';
import type { LiveFeed } from '../data/live_feed.ts';
import type { Page, Theme } from '../data/state.ts';
import { LiveControls } from '../views/live/controls.tsx';
import { LivePage } from '../views/live/live.tsx';
import { useSignal } from '../widgets/hooks.ts';
import { Mark, Notice, TITLES, ThemeButton } from './frame.tsx';
import { Help } from './help.tsx';
import { useKeys } from './keys.ts';

const LATER: Page[] = ['summary', 'timeline', 'models', 'operators', 'statistics'];

export interface LiveFrameProps {
  feed: LiveFeed;
  theme: Signal<Theme>;
  onOpen: (page: Page) => void;
}

const notice = signal('');
const say = (words: string): void => notice.set(words);

export function LiveFrame({ feed, theme, onOpen }: LiveFrameProps) {
  useSignal(feed.tick);
  const filter = useSignal(feed.filter);
  const search = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const info = feed.shown.info;
  document.documentElement.dataset['theme'] = useSignal(theme);
  useEffect(() => {
    document.title = `${info?.program ?? 'Waiting'} · Live · Inferogram`;
  }, [info?.program]);
  useKeys({ theme }, { search: () => search.current?.focus(), help: () => help.current?.showModal(), link: () => say('You can copy a link once the recording has ended.') });

  return (
    <div class="frame">
      <header class="bar">
        <span class="mark">
          <Mark />
        </span>
        <b class="program">{info?.program ?? 'Waiting for the recording'}</b>
        {info && <span class="sub">{[`pid ${info.pid}`, info.host].filter(Boolean).join(' · ')}</span>}
        <nav class="tabs" aria-label="Pages">
          <button class="tab on" aria-current="page">
            Live
          </button>
          {LATER.map((page) => (
            <button key={page} class="tab" disabled={!feed.isOver} title={feed.isOver ? undefined : 'Opens when the recording has ended'} onClick={() => onOpen(page)}>
              {TITLES[page]}
            </button>
          ))}
        </nav>
        <LiveControls feed={feed} say={say} />
        <div class="search" role="search">
          <svg viewBox="0 0 16 16" width="13" height="13" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
            <circle cx="7" cy="7" r="4.5" />
            <path d="M10.5 10.5L14 14" stroke-linecap="round" />
          </svg>
          <input
            ref={search}
            value={filter}
            placeholder="Filter by model or event"
            aria-label="Filter by model or event"
            onInput={(event) => feed.filter.set((event.target as HTMLInputElement).value)}
            onKeyDown={(event) => {
              if (event.key !== 'Escape') return;
              feed.filter.set('');
              (event.target as HTMLInputElement).blur();
            }}
          />
          <kbd>/</kbd>
        </div>
        <ThemeButton theme={theme} />
      </header>
      <LivePage feed={feed} onOpen={() => onOpen('summary')} />
      <Notice notice={notice} />
      <Help dialog={help} />
    </div>
  );
}
