// SPDX-License-Identifier: Apache-2.0
// What one inference costs now, whether it is getting worse, and what is still running.
import { useEffect } from 'preact/hooks';
import { isTyping } from '../../base/typing.ts';
import { INFERENCE, LOAD, SETUP, SPECIALIZATION, type Live } from '../../data/live.ts';
import type { LiveFeed } from '../../data/live_feed.ts';
import { useSignal } from '../../widgets/hooks.ts';
import { Activity } from './activity.tsx';
import { Gauges } from './gauges.tsx';
import { Graph } from './graph.tsx';
import { Resources } from './resources.tsx';

/** Space stops the picture or brings it back to now; Esc drops the selection. */
function useLiveKeys(feed: LiveFeed): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape') feed.pick.set(null);
      if (event.key !== ' ' || (event.target as HTMLElement | null)?.closest?.('button, a')) return;
      event.preventDefault();
      feed.toggle();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

/** What is to be said above the picture: that it is over, or that nothing comes. */
function Banner({ feed, live, onOpen }: { feed: LiveFeed; live: Live; onOpen: () => void }) {
  const link = useSignal(feed.link);
  if (feed.isOver)
    return (
      <div class="live-banner" role="status">
        <b>The recording ended{live.why ? `: ${live.why}` : ''}.</b>
        <button class="button small" onClick={onOpen}>
          Open the trace
        </button>
      </div>
    );
  if (link === 'gone')
    return (
      <div class="live-banner warn" role="status">
        <b>The server does not answer.</b>
        <span class="sub">What is shown is as it was. It is tried again every 2 s.{live.info && !live.info.temporary ? ' To follow the recording again:' : ''}</span>
        {live.info && !live.info.temporary && <code class="opt">inferogram serve --live {live.info.path}</code>}
      </div>
    );
  if (link === 'refused')
    return (
      <div class="live-banner warn" role="status">
        <b>The server does not know this page any more.</b>
        <span class="sub">Open the address that it printed, including everything after the #.</span>
      </div>
    );
  if (live.state === 'silent')
    return (
      <div class="live-banner warn" role="status">
        <b>Nothing is being written.</b>
        <span class="sub">The recorder is there, but stands still: it was stopped, or the machine gives it no time.</span>
      </div>
    );
  return null;
}

/** No event yet: what is looked at, and what would show something. */
function NothingYet({ live }: { live: Live }) {
  const over = live.state === 'ended';
  return (
    <div class="live-nothing">
      <b>{live.state === 'waiting' ? 'The recording has not begun yet.' : over ? 'No model ran while it was recorded.' : 'No model has run yet.'}</b>
      {live.info && live.state !== 'waiting' && (
        <p class="sub">
          {over ? 'Looked at: ' : 'Looking at '}
          {live.info.program}, pid {live.info.pid}
          {live.info.runtimes.length ? `, with ${live.info.runtimes.join(', ')}` : over ? '; it had no runtime that is known' : '; no runtime is loaded in it so far'}.{over ? '' : ' The first load or inference begins the graphs.'}
        </p>
      )}
    </div>
  );
}

export function LivePage({ feed, onOpen }: { feed: LiveFeed; onOpen: () => void }) {
  useSignal(feed.tick);
  useSignal(feed.frozen);
  useSignal(feed.edge);
  const setup = useSignal(feed.setup);
  useLiveKeys(feed);
  const live = feed.shown;
  const graphs = [INFERENCE, LOAD, SPECIALIZATION, ...(setup ? [SETUP] : [])];
  return (
    <main class="live">
      <Banner feed={feed} live={live} onOpen={onOpen} />
      <Gauges feed={feed} live={live} />
      <div class="live-main">
        {live.first === null ? (
          <NothingYet live={live} />
        ) : (
          <div class="live-graphs" style={{ gridTemplateRows: `repeat(${graphs.length}, minmax(112px, 1fr))` }}>
            {graphs.map((category) => (
              <Graph key={category} feed={feed} live={live} category={category} />
            ))}
          </div>
        )}
        <Activity feed={feed} live={live} />
      </div>
      <Resources live={live} />
    </main>
  );
}
