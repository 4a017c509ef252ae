// SPDX-License-Identifier: Apache-2.0
// One category: the slowest event of each second over 90 s, with High, Low, Count and what is open.
import { useMemo, useRef, useState } from 'preact/hooks';
import { count, duration } from '../../base/format.ts';
import { categoryName, plural } from '../../base/words.ts';
import { CATEGORIES, COUNT, INFERENCE, modelName, type Live } from '../../data/live.ts';
import type { LiveFeed } from '../../data/live_feed.ts';
import { WINDOW, barsOf, litSeconds, newestSecond, slowest, type Bars } from '../../data/live_pick.ts';
import { barAt, drawBars, linearAxis, logAxis } from '../../draw/bars.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useSignal } from '../../widgets/hooks.ts';
import { Swatch } from '../../widgets/parts.tsx';
import { minutes } from './words.ts';

const NOTE_BARS = 22; // room that a name needs
const NOTES_MOST = 6;

/** Names beside bars that stand alone, and the first inference. */
function notesOf(live: Live, bars: Bars): { bar: number; text: string }[] {
  const there: number[] = [];
  for (let i = 0; i < WINDOW; i++) if (bars.max[i]! > 0 || bars.growing[i]! > 0) there.push(i);
  const finished = there.filter((i) => bars.max[i]! > 0);
  if (bars.category === INFERENCE) {
    const first = finished[0];
    const isFirst = first !== undefined && live.categories?.['inference']?.count === live.categories?.['inference']?.count90;
    const higher = isFirst && finished.slice(1, NOTE_BARS).every((i) => bars.max[i]! < bars.max[first]! * 0.85);
    return isFirst && higher && first + NOTE_BARS < WINDOW ? [{ bar: first, text: 'first inference' }] : [];
  }
  if (finished.length > NOTES_MOST) return [];
  return finished
    .filter((i) => i + NOTE_BARS < WINDOW && !there.some((other) => other > i && other < i + NOTE_BARS))
    .map((bar) => {
      const row = slowest(live, bars.from + bar, bars.category);
      const name = row ? modelName(live, row.model) : '';
      return { bar, text: [name, duration(bars.max[bar]!)].filter(Boolean).join(' · ') };
    });
}

function Numbers({ live, category }: { live: Live; category: number }) {
  const about = live.categories?.[CATEGORIES[category]!];
  const open = barsOf(live, category, newestSecond(live)).open;
  const value = (ns: number | null | undefined) => (ns == null ? '–' : duration(ns));
  return (
    <dl class="graph-numbers">
      <dt>High</dt>
      <dd>{value(about?.high)}</dd>
      <dt>Low</dt>
      <dd>{value(about?.low)}</dd>
      <dt>Count</dt>
      <dd>{count(about?.count90 ?? 0)}</dd>
      {open && <dt>Open</dt>}
      {open && <dd>{duration(live.now - open.start)}</dd>}
    </dl>
  );
}

export function Graph({ feed, live, category }: { feed: LiveFeed; live: Live; category: number }) {
  const pick = useSignal(feed.pick);
  const [pointed, point] = useState(-1);
  const dragged = useRef<{ x: number; moved: boolean } | null>(null);
  const wheeled = useRef(0);
  const edge = feed.rightEdge;
  const bars = useMemo(() => barsOf(live, category, edge), [live, edge, feed.tick.value]);
  const notes = useMemo(() => notesOf(live, bars), [bars]);
  const name = categoryName(CATEGORIES[category]!);
  const lit = new Set([...litSeconds(live, pick, category)].map((second) => second - bars.from).filter((bar) => bar >= 0 && bar < WINDOW));
  const finished = Array.from(bars.max).filter((ns) => ns > 0);
  const about = live.categories?.[CATEGORIES[category]!];
  const log = category !== INFERENCE;
  const grown = Array.from(bars.growing).filter((ns) => ns > 0);
  const highest = Math.max(0, ...finished, ...(log || !finished.length ? grown : []));
  const axis = log ? logAxis(Math.min(Infinity, ...finished) || 0, highest) : linearAxis(highest);
  const said = pointed >= 0 ? pointed : Math.max(-1, ...lit);
  const says = said >= 0 && bars.max[said]! > 0 ? `${minutes(bars.from + said)} · max ${duration(bars.max[said]!)} · ${count(bars.count[said]!)} ${plural(bars.count[said]!, 'event')}` : '';
  const moving = feed.edge.value === null;
  const over = live.state === 'ended';
  const tick = (back: number) => (moving && !over ? (back === 0 ? 'now' : back === 90 ? '−90\u2009s' : `−${back}`) : bars.from + WINDOW - back < 0 ? '' : back === 0 && over && moving ? 'end' : minutes(bars.from + WINDOW - back));

  const choose = (bar: number) => bar >= 0 && feed.pickSecond(bars.from + bar, category);
  const key = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    let bar = lit.size ? Math.max(...lit) + step : WINDOW - 1;
    while (bar > 0 && bar < WINDOW - 1 && !(bars.max[bar]! > 0)) bar += step;
    if (bar >= 0 && bar < WINDOW) choose(bar);
  };
  return (
    <section class="graph" aria-label={name}>
      <div class="graph-label">
        <h2>
          <Swatch of={CATEGORIES[category]!} />
          {name}
        </h2>
        <Numbers live={live} category={category} />
      </div>
      <div
        class="graph-place"
        onWheel={(event) => {
          const by = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
          if (!by) return;
          event.preventDefault();
          wheeled.current += by / 12;
          const whole = Math.trunc(wheeled.current);
          wheeled.current -= whole;
          if (whole) feed.pan(whole);
        }}
        onPointerDown={(event) => {
          dragged.current = { x: event.clientX, moved: false };
        }}
        onPointerUp={() => setTimeout(() => (dragged.current = null), 0)}
      >
        <Chart
          height="100%"
          focusable
          label={`${name}: slowest event of each second, ${WINDOW} s${bars.open ? '; one is open' : ''}. Arrows choose a second.`}
          keys={[bars, pick, pointed, axis.high]}
          draw={(context, width, height, palette) =>
            drawBars(
              context,
              { category: CATEGORIES[category]!, axis, max: bars.max, growing: bars.growing, unfinished: bars.unfinished, median: about && about.count90 > 1 ? about.median90 : null, lit, pointed, says, notes, growsFor: bars.open ? { name: [modelName(live, bars.open.model), duration(live.now - bars.open.start)].filter(Boolean).join(' · '), how: over ? 'open at the end' : live.state === 'silent' ? 'open when last seen' : 'open and growing' } : null, nothing: finished.length || grown.length ? '' : moving ? `none in ${live.now - (live.first ?? 0) < WINDOW * 1e9 ? 'this recording so far' : `the last ${WINDOW}\u2009s`}` : 'none in these seconds', tick },
              width,
              height,
              palette,
            )
          }
          onMove={(x, _y, event) => {
            const width = (event.currentTarget as HTMLElement).clientWidth;
            const bar = barAt(x, width, WINDOW);
            point(bar >= 0 && bars.max[bar]! > 0 ? bar : -1);
            const drag = dragged.current;
            const by = drag && event.buttons & 1 ? Math.trunc((drag.x - event.clientX) / (width / WINDOW)) : 0;
            if (!drag || !by) return;
            drag.x = event.clientX;
            drag.moved = true;
            feed.pan(by);
          }}
          onLeave={() => point(-1)}
          onPick={(x, _y, event) => {
            const bar = barAt(x, (event.currentTarget as HTMLElement).clientWidth, WINDOW);
            if (!dragged.current?.moved && bar >= 0 && (bars.max[bar]! > 0 || live.buckets[category]!.get(bars.from + bar, COUNT) > 0)) choose(bar);
          }}
          onKey={key}
        >
          <Twin bars={bars} name={name} />
        </Chart>
      </div>
    </section>
  );
}

/** Its numbers for screen readers; they change once a second. */
function Twin({ bars, name }: { bars: Bars; name: string }) {
  return useMemo(() => {
    const rows: string[][] = [];
    for (let i = 0; i < WINDOW; i++) if (bars.max[i]! > 0 && i !== bars.unfinished) rows.push([minutes(bars.from + i), duration(bars.max[i]!), count(bars.count[i]!)]);
    return <TwinTable title={`${name}, by second`} head={['Second', 'Slowest', 'Events']} rows={rows} />;
  }, [bars.from, bars.unfinished, name]);
}
