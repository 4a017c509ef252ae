// SPDX-License-Identifier: Apache-2.0
// The page begins here: token from the address, the trace from the server or from the page itself, then the frame.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, Server } from '../api/client.ts';
import { asBench } from '../api/bench.ts';
import { asDiff } from '../api/diff.ts';
import { findEmbedded } from '../api/embedded.ts';
import type { TraceSource } from '../api/source.ts';
import type { Json, Traces } from '../api/types.ts';
import { applyAddress, readAddress, writeAddress } from '../data/address.ts';
import { batch, signal, type Signal } from '../base/signal.ts';
import { LiveFeed } from '../data/live_feed.ts';
import { State, type Page, type Theme } from '../data/state.ts';
import { BenchPage } from '../views/bench/bench.tsx';
import { ComparedFiles } from '../views/compare/compare.tsx';
import { Frame } from './frame.tsx';
import { LiveFrame } from './live_frame.tsx';
import { Loading, NoTrace, Picker, ServerGone, WrongToken } from './states.tsx';

const TOKEN = 'inferogram-token';

/** From the address once, then from this tab's memory: a link that is copied does not have it. */
function takeToken(): string {
  const token = readAddress(location.hash).token;
  if (token) {
    sessionStorage.setItem(TOKEN, token);
    const rest = new URLSearchParams(location.hash.replace(/^#/, ''));
    rest.delete('token');
    history.replaceState(null, '', `#${rest.toString()}`);
  }
  return token || sessionStorage.getItem(TOKEN) || '';
}

type Shown = { kind: 'loading'; progress: number } | { kind: 'frame'; state: State; traces: Traces | null; server: Server | null; live: LiveFeed | null } | { kind: 'live'; feed: LiveFeed; theme: Signal<Theme>; open: (page: Page) => void } | { kind: 'picker'; traces: Traces } | { kind: 'token' } | { kind: 'gone' } | { kind: 'bad'; why: string } | { kind: 'bench' | 'compare'; document: Json };

async function open(source: TraceSource, id: number): Promise<State> {
  const state = new State(source, await source.meta(), id);
  applyAddress(state, readAddress(location.hash));
  if (!readAddress(location.hash).theme && matchMedia('(prefers-color-scheme: dark)').matches) state.theme.set('dark');
  return state;
}

/** Keeps the address in step with what is shown. `several`: of so many traces this is one. */
function keepAddress(state: State, several = false): void {
  let timer = 0;
  let page = state.page.value;
  let back = false;
  // another page is a step that the browser can go back; what changes on a page is not
  const writeNow = () => {
    history[page === state.page.value ? 'replaceState' : 'pushState']('ours', '', `#${writeAddress(state)}`);
    page = state.page.value;
  };
  const write = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(writeNow, 150);
  };
  history.replaceState('ours', '');
  for (const part of [state.page, state.view, state.selection, state.range, state.model, state.functionId, state.search, state.flows, state.settings, state.theme]) part.watch(write);
  window.addEventListener('popstate', (event) => (back = event.state === 'ours'));
  // what the user entered wins over what we were about to write
  window.addEventListener('hashchange', (event) => {
    window.clearTimeout(timer);
    const { hash } = new URL(event.newURL);
    const parts = new URLSearchParams(hash.slice(1));
    if (several && (parts.has('trace') ? Number(parts.get('trace')) !== state.traceId : parts.size === 0)) {
      location.reload(); // another trace, or the list of them
      return;
    }
    batch(() => applyAddress(state, readAddress(hash), back));
    page = state.page.value;
    back = false;
  });
}

function inTrouble(trouble: unknown): Shown {
  if (trouble instanceof ApiError && trouble.status === 401) return { kind: 'token' };
  if (trouble instanceof ApiError && trouble.status === 0) return { kind: 'gone' };
  return { kind: 'bad', why: trouble instanceof Error ? trouble.message : String(trouble) };
}

/** A recording that goes on is no trace yet; it becomes one when it has ended. */
function watchLive(server: Server, traces: Traces, show: (shown: Shown) => void): void {
  const feed = new LiveFeed(server);
  const address = readAddress(location.hash);
  const theme = signal<Theme>(address.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  const openTrace = (page: Page) => {
    const load = async () => {
      const state = await open(server.trace(0, (progress) => show({ kind: 'loading', progress })), 0);
      state.page.set(page);
      state.theme.set(theme.value);
      keepAddress(state);
      show({ kind: 'frame', state, traces, server, live: feed });
    };
    load().catch((trouble: unknown) => show(inTrouble(trouble)));
  };
  const keepTheme = () => history.replaceState(null, '', `#page=live&theme=${theme.value}`);
  theme.watch(keepTheme);
  // a page that is loaded again after the end goes on where it was
  feed.link.watch(() => feed.link.value === 'ended' && feed.tick.value === 1 && address.page && address.page !== 'live' && openTrace(address.page));
  feed.begin();
  show({ kind: 'live', feed, theme, open: openTrace });
}

function App() {
  const [shown, show] = useState<Shown>({ kind: 'loading', progress: 0 });

  useEffect(() => {
    const start = async () => {
      if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.dataset['theme'] = 'dark';
      const embedded = await findEmbedded(document);
      if (embedded?.trace) {
        const state = await open(embedded.trace, 0);
        keepAddress(state);
        show({ kind: 'frame', state, traces: null, server: null, live: null });
        return;
      }
      if (embedded) {
        show(embedded.bench ? { kind: 'bench', document: embedded.bench } : { kind: 'compare', document: embedded.compare });
        return;
      }
      const server = new Server(takeToken());
      const traces = await server.traces();
      const wanted = new URLSearchParams(location.hash.replace(/^#/, '')).has('trace');
      if (traces.traces.length !== 1 && !wanted && !traces.live) {
        window.addEventListener('hashchange', () => location.reload()); // one was chosen
        show({ kind: 'picker', traces });
        return;
      }
      const id = readAddress(location.hash).trace;
      if (traces.live && id === 0) {
        watchLive(server, traces, show);
        return;
      }
      const state = await open(server.trace(id, (progress) => show({ kind: 'loading', progress })), id);
      keepAddress(state, traces.traces.length > 1);
      show({ kind: 'frame', state, traces, server, live: null });
    };
    start().catch((trouble: unknown) => show(inTrouble(trouble)));
  }, []);

  switch (shown.kind) {
    case 'loading':
      return <Loading progress={shown.progress} />;
    case 'frame':
      return <Frame state={shown.state} traces={shown.traces} server={shown.server} live={shown.live} />;
    case 'live':
      return <LiveFrame feed={shown.feed} theme={shown.theme} onOpen={shown.open} />;
    case 'picker':
      return <Picker traces={shown.traces} />;
    case 'token':
      return <WrongToken />;
    case 'gone':
      return <ServerGone />;
    case 'bad':
      return <NoTrace why={shown.why} />;
    case 'bench':
      return <BenchPage bench={asBench(shown.document)} />;
    case 'compare':
      return <ComparedFiles diff={asDiff(shown.document)} />;
  }
}

// who marks a number in a row wants to copy it, not to open the row
document.addEventListener('click', (event) => event.detail > 0 && !getSelection()?.isCollapsed && (event.target as Element).closest('.opens') && event.stopPropagation(), true);

render(<App />, document.getElementById('app')!);
