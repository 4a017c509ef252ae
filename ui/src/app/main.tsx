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
import { State } from '../data/state.ts';
import { BenchPage } from '../views/bench/bench.tsx';
import { ComparedFiles } from '../views/compare/compare.tsx';
import { Frame } from './frame.tsx';
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

type Shown = { kind: 'loading'; progress: number } | { kind: 'frame'; state: State; traces: Traces | null; server: Server | null } | { kind: 'picker'; traces: Traces } | { kind: 'token' } | { kind: 'gone' } | { kind: 'bad'; why: string } | { kind: 'bench' | 'compare'; document: Json };

async function open(source: TraceSource, id: number): Promise<State> {
  const state = new State(source, await source.meta(), id);
  applyAddress(state, readAddress(location.hash));
  if (!readAddress(location.hash).theme && matchMedia('(prefers-color-scheme: dark)').matches) state.theme.set('dark');
  return state;
}

/** Keeps the address in step with what is shown. */
function keepAddress(state: State): void {
  let timer = 0;
  const write = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => history.replaceState(null, '', `#${writeAddress(state)}`), 150);
  };
  for (const part of [state.page, state.view, state.selection, state.range, state.model, state.routine, state.search, state.theme]) part.watch(write);
  window.addEventListener('hashchange', () => applyAddress(state, readAddress(location.hash)));
}

function App() {
  const [shown, show] = useState<Shown>({ kind: 'loading', progress: 0 });

  useEffect(() => {
    const start = async () => {
      const embedded = await findEmbedded(document);
      if (embedded?.trace) {
        const state = await open(embedded.trace, 0);
        keepAddress(state);
        show({ kind: 'frame', state, traces: null, server: null });
        return;
      }
      if (embedded) {
        if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.dataset['theme'] = 'dark';
        show(embedded.bench ? { kind: 'bench', document: embedded.bench } : { kind: 'compare', document: embedded.compare });
        return;
      }
      const server = new Server(takeToken());
      const traces = await server.traces();
      const wanted = new URLSearchParams(location.hash.replace(/^#/, '')).has('trace');
      if (traces.traces.length !== 1 && !wanted) {
        show({ kind: 'picker', traces });
        return;
      }
      const id = readAddress(location.hash).trace;
      const state = await open(server.trace(id, (progress) => show({ kind: 'loading', progress })), id);
      keepAddress(state);
      show({ kind: 'frame', state, traces, server });
    };
    start().catch((trouble: unknown) => {
      if (trouble instanceof ApiError && trouble.status === 401) show({ kind: 'token' });
      else if (trouble instanceof ApiError && trouble.status === 0) show({ kind: 'gone' });
      else show({ kind: 'bad', why: trouble instanceof Error ? trouble.message : String(trouble) });
    });
  }, []);

  switch (shown.kind) {
    case 'loading':
      return <Loading progress={shown.progress} />;
    case 'frame':
      return <Frame state={shown.state} traces={shown.traces} server={shown.server} />;
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

render(<App />, document.getElementById('app')!);
