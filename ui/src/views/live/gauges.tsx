// SPDX-License-Identifier: Apache-2.0
// The three medians, and the time spent per second of all events together.
import { count, duration } from '../../base/format.ts';
import { categoryName, plural } from '../../base/words.ts';
import { CATEGORIES, INFERENCE, LOAD, SPECIALIZATION, modelName, type Live } from '../../data/live.ts';
import type { LiveFeed } from '../../data/live_feed.ts';
import { WINDOW, isLong, newestSecond, sumsOf } from '../../data/live_pick.ts';
import { drawSums } from '../../draw/sums.ts';
import { Chart } from '../../widgets/canvas.tsx';
import { useSignal } from '../../widgets/hooks.ts';
import { Swatch } from '../../widgets/parts.tsx';

/** The model of the newest event of a category. */
function newestModel(live: Live, category: number): string {
  for (let i = live.rows.length - 1; i >= 0; i--) if (live.rows.category(i) === category) return modelName(live, live.rows.model(i));
  return '';
}

function below(live: Live, category: number): string {
  const about = live.categories?.[CATEGORIES[category]!];
  const open = live.open.filter((one) => one.category === category && isLong(one));
  const longest = Math.max(0, ...open.map((one) => one.duration));
  if (!about || (!about.count && !open.length)) return live.state === 'ended' ? 'none' : 'none so far';
  if (category === INFERENCE && !open.length) {
    const name = newestModel(live, category);
    return about.models === 1 && name ? `${name}, one model running` : `${count(about.models)} ${plural(about.models, 'model')} running`;
  }
  return [`${count(about.count)} finished`, open.length ? `${open.length} open for ${duration(longest)}` : ''].filter(Boolean).join(', ');
}

function Gauge({ live, category }: { live: Live; category: number }) {
  const median = live.categories?.[CATEGORIES[category]!]?.median ?? null;
  const [value, unit] = median === null ? ['–', ''] : duration(median).split('\u2009');
  return (
    <div class="gauge">
      <span class="key">
        <Swatch of={CATEGORIES[category]!} />
        {categoryName(CATEGORIES[category]!)}
      </span>
      <div class="gauge-number">
        {value}
        <small>{unit ? `${unit} median` : 'median'}</small>
      </div>
      <span class="gauge-sub" title={below(live, category)}>
        {below(live, category)}
      </span>
    </div>
  );
}

export function Gauges({ feed, live }: { feed: LiveFeed; live: Live }) {
  const pick = useSignal(feed.pick);
  const setup = useSignal(feed.setup);
  const all = live.categories?.all;
  const edge = feed.rightEdge;
  const { from, parts, open } = sumsOf(live, edge, setup);
  const lit = pick?.kind === 'second' && pick.category === null ? pick.second - from : -1;
  return (
    <section class="gauges" aria-label="Medians">
      {[INFERENCE, LOAD, SPECIALIZATION].map((category) => (
        <Gauge key={category} live={live} category={category} />
      ))}
      <div class="gauge gauge-sums">
        <div class="gauge-line">
          <span class="dim">All events, time spent per second</span>
          <span>
            <b>{all?.median != null ? `${duration(all.median)} per event` : 'no event'}</b>
            <span class="faint">{all?.count ? ` · median of all ${count(all.count)}, ` : `${live.state === 'ended' ? '' : ' yet'} · `}</span>
            <button class="linklike" aria-pressed={setup} title={setup ? 'Hide the set-ups' : 'Show the set-ups: their graph, their rows, their time'} onClick={() => feed.setup.set(!setup)}>
              {setup ? 'Setup shown, not counted' : 'Setup hidden'}
            </button>
          </span>
        </div>
        <Chart
          height={46}
          label={`Time spent per second in the last ${WINDOW} s, all events`}
          keys={[feed.tick.value, live, edge, lit, setup]}
          draw={(context, width, height, palette) =>
            drawSums(context, { parts: parts.map((part) => ({ category: CATEGORIES[part.category]!, sum: part.sum })), open: Array.from(open, (category) => (category < 0 ? '' : CATEGORIES[category]!)), unfinished: live.state === 'ended' ? -1 : newestSecond(live) - from, lit }, width, height, palette)
          }
          onPick={(x, _y, event) => {
            const bar = Math.floor((x / (event.currentTarget as HTMLElement).clientWidth) * WINDOW);
            if (bar >= 0 && bar < WINDOW && live.first !== null) feed.pickSecond(from + bar, null);
          }}
        />
      </div>
    </section>
  );
}
