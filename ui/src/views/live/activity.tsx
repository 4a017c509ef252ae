// SPDX-License-Identifier: Apache-2.0
// The finished events, oldest to newest, and below them those that are open. The table follows only while its end is seen.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { LiveOpen } from '../../api/live.ts';
import { clock, count, duration } from '../../base/format.ts';
import { categoryClass, categoryName, plural } from '../../base/words.ts';
import { CATEGORIES, modelName, type Live } from '../../data/live.ts';
import type { LiveFeed } from '../../data/live_feed.ts';
import { innermostOpen, isPicked, listed, position } from '../../data/live_pick.ts';
import { useSignal } from '../../widgets/hooks.ts';
import { CategoryKey, Swatch } from '../../widgets/parts.tsx';
import { minutes } from './words.ts';

const ROW = 22.5;
const MORE = 6; // rows above and below what is seen
const NEAR = 4; // px: this far from the end is at the end
const OPEN_SHOWN = 2;

/** Where the row with this number is among the listed ones, or the next newer one. */
function find(live: Live, list: Int32Array, n: number): number {
  const at = position(live, n);
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function Open({ live, one }: { live: Live; one: LiveOpen }) {
  const category = CATEGORIES[one.category]!;
  const thread = live.threads.get(one.thread);
  const where = thread && one.async ? `began on ${thread}` : thread;
  return (
    <div class="live-open">
      <b class="key ink">
        <Swatch of={category} />
        <span>
          {[modelName(live, one.model), categoryName(category)].filter(Boolean).join(' · ')}, open
        </span>
      </b>
      <b>{duration(live.now - one.start)}{live.state === 'ended' ? '' : ' …'}</b>
      <span class={`live-progress ${categoryClass(category)}`} />
      <span class="foot">{[one.inside ? `${live.state === 'ended' ? 'was' : 'now'} in ${one.inside}` : '', where ?? ''].filter(Boolean).join(', ') || `since ${clock(Math.max(0, one.start - (live.first ?? 0)))}`}</span>
    </div>
  );
}

function OpenEvents({ live }: { live: Live }) {
  const open = innermostOpen(live);
  if (!open.length) return null;
  return (
    <div class="live-opens" aria-label="Open events">
      {open.slice(0, OPEN_SHOWN).map((one) => (
        <Open key={`${one.thread} ${one.start} ${one.category} ${one.async ?? false}`} live={live} one={one} />
      ))}
      {open.length > OPEN_SHOWN && <p class="foot">and {count(open.length - OPEN_SHOWN)} more</p>}
    </div>
  );
}

export function Activity({ feed, live }: { feed: LiveFeed; live: Live }) {
  const pick = useSignal(feed.pick);
  const filter = useSignal(feed.filter);
  const setup = useSignal(feed.setup);
  const atBottom = useSignal(feed.atBottom);
  const body = useRef<HTMLDivElement>(null);
  const anchor = useRef({ n: -1, offset: 0 }); // the row at the top, and how much of it is above
  const [height, setHeight] = useState(500);
  const [top, setTop] = useState(0);
  const list = useMemo(() => listed(live, filter, setup), [live, feed.tick.value, filter, setup]);
  const all = list.length * ROW;

  useLayoutEffect(() => {
    const element = body.current!;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // New rows come at the end and old ones go at the beginning: what is being read stays where it is.
  useLayoutEffect(() => {
    const element = body.current!;
    if (atBottom) element.scrollTop = all;
    else if (anchor.current.n >= 0) {
      const wanted = find(live, list, anchor.current.n) * ROW + anchor.current.offset;
      if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
    }
    setTop(element.scrollTop);
  }, [list, atBottom, height]);
  // A bar's rows come into sight.
  useEffect(() => {
    if (pick?.kind !== 'second') return;
    const first = list.findIndex((i) => isPicked(live, pick, i));
    const element = body.current!;
    if (first < 0 || (first * ROW >= element.scrollTop && (first + 1) * ROW <= element.scrollTop + element.clientHeight)) return;
    let last = first;
    for (let i = first; i < list.length; i++) if (isPicked(live, pick, list[i]!)) last = i;
    if ((last + 1) * ROW > element.scrollTop && last * ROW < element.scrollTop + element.clientHeight && atBottom) return; // some are seen
    element.scrollTop = Math.max(0, first * ROW - ROW);
    seen();
  }, [pick]);

  const seen = () => {
    const element = body.current!;
    const index = Math.min(Math.floor(element.scrollTop / ROW), list.length - 1);
    anchor.current = index >= 0 ? { n: live.rows.number(list[index]!), offset: element.scrollTop - index * ROW } : { n: -1, offset: 0 };
    setTop(element.scrollTop);
    feed.atBottom.set(element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR);
  };
  const choose = (index: number, more: boolean) => {
    const i = list[index];
    if (i === undefined) return;
    const n = live.rows.number(i);
    feed.pickRows(more && pick?.kind === 'rows' ? (n > pick.from ? pick.from : pick.to) : n, n, live.rows.end(i));
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const index = pick?.kind === 'rows' ? find(live, list, step > 0 ? pick.to : pick.from) + step : list.length - 1;
    choose(index, event.shiftKey);
    const element = body.current!;
    if (index * ROW < element.scrollTop) element.scrollTop = index * ROW;
    else if ((index + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (index + 1) * ROW - element.clientHeight;
  };
  let picked = 0;
  if (pick) for (const i of list) picked += Number(isPicked(live, pick, i));
  const first = Math.max(0, Math.floor(top / ROW) - MORE);
  const last = Math.min(list.length, Math.ceil((top + height) / ROW) + MORE);
  const hint = pick ? `${count(picked)} ${plural(picked, 'row')} selected${pick.kind === 'second' ? `, second ${minutes(pick.second)}` : ''}` : live.totals.thinned ? `${count(live.totals.thinned)} of ${count(live.totals.events)} events are only in the graphs` : '';
  return (
    <aside class="activity" aria-label="Activity">
      <div class="activity-head">
        <h2>Activity</h2>
        <span class="faint">{hint}</span>
        {pick && (
          <button class="linklike" title="Clear the selection (Esc)" onClick={() => feed.pick.set(null)}>
            clear
          </button>
        )}
        <span class="grow" />
        {live.state === 'ended' ? null : atBottom && !feed.frozen.value ? (
          <span class="chip good">● Following</span>
        ) : (
          <button class="chip mute" title="Back to the newest row" onClick={() => feed.follow()}>
            {feed.frozen.value ? '○ Paused' : '○ Not following'}
          </button>
        )}
      </div>
      <div class="activity-table" role="grid" aria-label="Finished events" aria-rowcount={list.length + 1}>
        <div class="activity-row activity-titles" role="row">
          <span role="columnheader">Start</span>
          <span role="columnheader" class="num">
            Duration
          </span>
          <span role="columnheader">Model</span>
          <span role="columnheader">Event</span>
        </div>
        <div class="activity-body" ref={body} tabIndex={0} aria-label="Finished events: rows" onScroll={seen} onKeyDown={press}>
          {list.length === 0 && <p class="activity-none">{filter && live.rows.length ? `No event has "${filter}" in its model or kind.` : live.state === 'ended' ? 'No event finished during the recording.' : 'No event has finished yet.'}</p>}
          <div class="activity-rows" style={{ height: `${all}px` }}>
            {Array.from(list.subarray(first, last), (i, at) => {
              const row = live.rows.at(i);
              const index = first + at;
              return (
                <div key={row.n} role="row" aria-rowindex={index + 2} aria-selected={isPicked(live, pick, i)} class={`activity-row${isPicked(live, pick, i) ? ' sel' : ''}`} style={{ top: `${index * ROW}px` }} onClick={(event) => choose(index, event.shiftKey)}>
                  <span role="gridcell" class="mono">
                    {clock(Math.max(0, row.start - (live.first ?? 0)))}
                  </span>
                  <span role="gridcell" class="num">
                    {duration(row.duration)}
                  </span>
                  <span role="gridcell">{modelName(live, row.model) || '–'}</span>
                  <span role="gridcell">
                    <CategoryKey category={CATEGORIES[row.category] ?? ''} />
                  </span>
                </div>
              );
            })}
          </div>
        </div>
      </div>
      <OpenEvents live={live} />
    </aside>
  );
}
