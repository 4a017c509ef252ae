// SPDX-License-Identifier: Apache-2.0
// What the live page has in the bar on top: how long it goes on, Pause or Now, and keeping the trace.
import { keepTrace } from '../../api/live.ts';
import { clock } from '../../base/format.ts';
import type { LiveFeed } from '../../data/live_feed.ts';
import { useSignal } from '../../widgets/hooks.ts';

export function LiveControls({ feed, say }: { feed: LiveFeed; say: (words: string) => void }) {
  useSignal(feed.tick);
  const link = useSignal(feed.link);
  const frozen = useSignal(feed.frozen);
  useSignal(feed.edge);
  useSignal(feed.atBottom);
  const live = feed.shown;
  const lost = link === 'gone' || link === 'refused';
  const word = feed.isOver ? 'Ended' : lost ? 'Server gone' : frozen ? 'Paused' : live.state === 'silent' ? 'Silent' : live.state === 'waiting' ? 'Waiting' : 'Live';
  const save = () =>
    keepTrace(feed.server).then(
      (saved) => say(!saved.temporary ? `The trace is in ${saved.path}` : saved.kept ? `The trace will be kept: ${saved.path}` : 'The trace cannot be kept.'),
      (trouble: unknown) => say(trouble instanceof Error ? trouble.message : String(trouble)),
    );
  return (
    <>
      <span class="key live-clock" role="timer">
        <span class={`live-dot${word === 'Live' ? '' : ' still'}`} />
        {word} {clock(live.now).slice(0, 8)}
      </span>
      {!feed.isOver &&
        (feed.isFollowing ? (
          <button class="button" title="Pauses the view, not the recording" onClick={() => feed.pause()}>
            Pause <kbd>Space</kbd>
          </button>
        ) : (
          <button class="button live-now" title="Back to the present" onClick={() => feed.follow()}>
            Now <kbd>Space</kbd>
          </button>
        ))}
      <button class="button" title={live.info?.temporary ? 'Keeps the trace when the recording ends' : 'Shows where the trace is'} onClick={() => void save()}>
        Save trace
      </button>
    </>
  );
}
