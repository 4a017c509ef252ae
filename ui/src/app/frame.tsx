// SPDX-License-Identifier: Apache-2.0
// The bar on top with its tabs and search, the page below, and what keys do everywhere.
import { useEffect, useRef } from 'preact/hooks';
import type { Server } from '../api/client.ts';
import type { Traces } from '../api/types.ts';
import { duration } from '../base/format.ts';
import { writeAddress } from '../data/address.ts';
import type { Signal } from '../base/signal.ts';
import type { LiveFeed } from '../data/live_feed.ts';
import { PAGES, type Page, type State, type Theme } from '../data/state.ts';
import { useSignal } from '../widgets/hooks.ts';
import { Compare } from '../views/compare/compare.tsx';
import { Flame } from '../views/flame/flame.tsx';
import { LiveControls } from '../views/live/controls.tsx';
import { LivePage } from '../views/live/live.tsx';
import { Memory } from '../views/memory/memory.tsx';
import { Models } from '../views/models/models.tsx';
import { Operators } from '../views/operators/operators.tsx';
import { ReportPage } from '../views/report/report.tsx';
import { Source } from '../views/source/source.tsx';
import { Statistics } from '../views/statistics/statistics.tsx';
import { Summary } from '../views/summary/summary.tsx';
import { Timeline } from '../views/timeline/timeline.tsx';
import { Help } from './help.tsx';
import { useKeys } from './keys.ts';
import { Search } from './search.tsx';

export const TITLES: Record<Page, string> = { report: 'Report', summary: 'Summary', timeline: 'Timeline', models: 'Models', operators: 'Operators', statistics: 'Statistics', flame: 'Flame', source: 'Source', memory: 'Memory', compare: 'Compare', live: 'Live' };

export interface FrameProps {
  state: State;
  traces: Traces | null;
  server: Server | null;
  /** The recording that goes on, or went on when this page was opened. */
  live: LiveFeed | null;
}

/** Pages that have something to show for this trace. */
export function pagesOf({ state, traces, live }: FrameProps): Page[] {
  return PAGES.filter((page) => {
    if (page === 'report' || page === 'summary') return state.source.online === (page === 'summary'); // a mailed report begins with the one, a server with the other
    if (page === 'live') return live !== null;
    if (page === 'compare') return (traces?.traces.length ?? 0) > 1;
    return true;
  });
}

export async function copyLink(state: State): Promise<void> {
  const link = `${location.origin}${location.pathname}#${writeAddress(state)}`;
  try {
    await navigator.clipboard.writeText(link);
    state.say('Link copied. It works for everyone who has the token.');
  } catch {
    state.say(link);
  }
}

function Body({ state, traces, server, live }: FrameProps) {
  switch (useSignal(state.page)) {
    case 'report':
      return <ReportPage state={state} />;
    case 'summary':
      return <Summary state={state} />;
    case 'timeline':
      return <Timeline state={state} />;
    case 'models':
      return <Models state={state} />;
    case 'operators':
      return <Operators state={state} />;
    case 'statistics':
      return <Statistics state={state} />;
    case 'flame':
      return <Flame state={state} />;
    case 'source':
      return <Source state={state} />;
    case 'memory':
      return <Memory state={state} />;
    case 'compare':
      return <Compare state={state} traces={traces} server={server} />;
    case 'live':
      return live && <LivePage feed={live} onOpen={() => state.page.set('summary')} />;
  }
}

export function Notice({ notice }: { notice: Signal<string> }) {
  const words = useSignal(notice);
  useEffect(() => {
    const timer = words ? setTimeout(() => notice.set(''), 4000) : undefined;
    return () => clearTimeout(timer);
  }, [words]);
  return words ? (
    <div class="notice" role="status">
      {words}
    </div>
  ) : null;
}

export function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <rect x="2" y="2" width="20" height="20" rx="5" fill="none" stroke="currentColor" stroke-width="1.8" />
      <path d="M5 13h3.5l2-5 3 9 2-4H19" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round" />
    </svg>
  );
}

export function ThemeButton({ theme }: { theme: Signal<Theme> }) {
  return (
    <button class="icon" title="Light or dark (L)" aria-label="Light or dark" onClick={() => theme.set(theme.value === 'dark' ? 'light' : 'dark')}>
      <svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
        <path d="M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6z" stroke-linejoin="round" />
      </svg>
    </button>
  );
}

export function Frame(props: FrameProps) {
  const { state } = props;
  const page = useSignal(state.page);
  const theme = useSignal(state.theme);
  const help = useRef<HTMLDialogElement>(null);
  const search = useRef<HTMLInputElement>(null);

  // while rendering, not after it: what is inside reads the colours of the style sheet when it renders
  document.documentElement.dataset['theme'] = theme;
  useEffect(() => {
    document.title = `${state.meta.title || state.meta.program} · Inferogram`;
  }, []);
  useKeys(state, { search: () => search.current?.focus(), help: () => help.current?.showModal(), link: () => void copyLink(state) });

  return (
    <div class="frame">
      <header class="bar">
        <a class="mark" href="#" aria-label="Inferogram: whole trace" onClick={(event) => (event.preventDefault(), state.fit(), state.page.set(state.source.online ? 'summary' : 'report'))}>
          <Mark />
        </a>
        {(props.traces?.traces.length ?? 0) > 1 && (
          <a class="button small" href="#" title="The list of traces">
            ‹ {props.traces!.traces.length} traces
          </a>
        )}
        <b class="program" title={state.meta.title}>
          {state.meta.title || state.meta.program}
        </b>
        <span class="sub">{[state.meta.pid ? `pid ${state.meta.pid}` : '', state.meta.host, duration(state.length)].filter(Boolean).join(' · ')}</span>
        <nav class="tabs" aria-label="Pages">
          {pagesOf(props).map((name) => (
            <button key={name} class={name === page ? 'tab on' : 'tab'} aria-current={name === page ? 'page' : undefined} onClick={() => state.page.set(name)}>
              {TITLES[name]}
            </button>
          ))}
        </nav>
        {page === 'live' && props.live && <LiveControls feed={props.live} say={(words) => state.say(words)} />}
        <Search state={state} input={search} />
        <button class="icon" title="Copy a link to this view (Y)" aria-label="Copy a link to this view" onClick={() => void copyLink(state)}>
          <svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" aria-hidden="true">
            <path d="M6.5 9.5l3-3M7 4.5l1.2-1.2a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5l-1.2 1.2a2.8 2.8 0 0 1-4-4L5 7.5" />
          </svg>
        </button>
        <ThemeButton theme={state.theme} />
      </header>
      <Body {...props} />
      <Notice notice={state.notice} />
      <Help dialog={help} />
    </div>
  );
}
