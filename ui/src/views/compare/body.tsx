// SPDX-License-Identifier: Apache-2.0
// Two recordings side by side: the verdict in words, each model and category with its interval, then operators and zones that changed most.
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Diff, DiffRow, Verdict } from '../../api/diff.ts';
import { count, duration, percent } from '../../base/format.ts';
import { onAxis, ratioAxis, type RatioAxis } from '../../base/ratio.ts';
import { capital, categoryName, HOST_TIME, unbroken } from '../../base/words.ts';
import { Head, Swatch } from '../../widgets/parts.tsx';
import { changedMost, difference, headline, inCommon, needs, SIGNS } from './words.ts';

export function VerdictChip({ verdict, n }: { verdict: Verdict; n?: number }) {
  const { sign, chip } = SIGNS[verdict];
  return (
    <span class={`chip ${chip}`}>
      <span aria-hidden="true">{sign}</span> {n === undefined ? verdict : `${count(n)} ${verdict.toLowerCase()}`}
    </span>
  );
}

const HEIGHT = 22;
const NARROW = 260; // px: not every mark of the axis has room for its number

/** The interval on the axis, marked by the verdict's own sign. */
function Forest({ row, axis, threshold, width }: { row: DiffRow; axis: RatioAxis; threshold: number; width: number }) {
  const x = (ratio: number): number => onAxis(axis, ratio) * width;
  const middle = HEIGHT / 2;
  const band = [x(1 / (1 + threshold)), x(1 + threshold)] as const;
  const color = { REGRESSED: 'var(--bad)', IMPROVED: 'var(--good)', SAME: 'var(--mute)', UNSURE: 'var(--warn)', NEW: 'var(--mute)', GONE: 'var(--mute)' }[row.verdict];
  const at = row.change === null ? NaN : x(1 + row.change);
  const low = row.low === null ? at : Math.max(x(1 + row.low), 0);
  const high = row.high === null ? at : Math.min(x(1 + row.high), width);
  const off = at < 0 ? -1 : at > width ? 1 : 0;
  const words = row.change === null ? 'not judged' : `ratio ${(1 + row.change).toFixed(3)}`;
  return (
    <svg class="forest" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
      <rect x={band[0]} y="0" width={band[1] - band[0]} height={HEIGHT} fill="var(--mute-soft)" />
      {axis.marks.map((mark) => (
        <rect key={mark} x={x(mark) - 0.5} y="0" width="1" height={HEIGHT} fill={mark === 1 ? 'var(--mute)' : 'var(--grid)'} />
      ))}
      {!Number.isNaN(at) && off === 0 && (
        <>
          <path d={`M${low} ${middle}H${high}M${low} ${middle - 4}V${middle + 4}M${high} ${middle - 4}V${middle + 4}`} stroke={color} stroke-width="1.6" fill="none" />
          {row.verdict === 'REGRESSED' && <path d={`M${at} ${middle - 5}l5.5 9.5h-11z`} fill={color} />}
          {row.verdict === 'IMPROVED' && <path d={`M${at} ${middle + 5}l5.5 -9.5h-11z`} fill={color} />}
          {row.verdict === 'SAME' && <rect x={at - 4} y={middle - 4} width="8" height="8" fill={color} />}
          {row.verdict === 'UNSURE' && <circle cx={at} cy={middle} r="4" fill="var(--bg)" stroke={color} stroke-width="1.8" />}
        </>
      )}
      {off !== 0 && (
        <>
          <path d={off < 0 ? `M34 ${middle}H3m6 -5l-6 5l6 5` : `M${width - 34} ${middle}H${width - 3}m-6 -5l6 5l-6 5`} stroke={color} stroke-width="1.6" fill="none" />
          <text x={off < 0 ? 40 : width - 40} y={middle + 3.5} text-anchor={off < 0 ? 'start' : 'end'} fill={color} font-size="10.5" font-weight="600">
            {(1 + row.change!).toFixed(2)}, off the scale
          </text>
        </>
      )}
    </svg>
  );
}

function AxisHead({ axis, width, box }: { axis: RatioAxis; width: number; box: RefObject<HTMLDivElement> }) {
  return (
    <div class="forest-axis" aria-hidden="true" ref={box}>
      {axis.marks.filter((_, i) => width > NARROW || i % 2 === 0).map((mark) => (
        <span key={mark} style={{ left: `${onAxis(axis, mark) * 100}%` }}>
          {mark}
        </span>
      ))}
    </div>
  );
}

const interval = (row: DiffRow, floor_ns: number): string => (row.low === null || row.high === null ? needs(row, floor_ns) || '–' : `${(1 + row.low).toFixed(3)} – ${(1 + row.high).toFixed(3)}`);
const counts = (row: DiffRow): string => (row.a.count === row.b.count ? count(row.a.count) : `${count(row.a.count)} → ${count(row.b.count)}`);
/** What the verdict rests on, in words. */
const why = (row: DiffRow, diff: Diff): string | undefined => [needs(row, diff.floor_ns) ? `${needs(row, diff.floor_ns)}${row.more ? ' on each side' : ''}` : '', row.change !== null && !row.significant ? 'the difference may be random' : ''].filter(Boolean).join('; ') || undefined;
const tone = (row: DiffRow): string => (row.verdict === 'REGRESSED' ? 'bad-word' : row.verdict === 'IMPROVED' ? 'good-word' : 'dim');
const median = (side: DiffRow['a']) => (side.count ? duration(side.median_ns) : <span class="faint">–</span>);

function Changes({ rows, diff }: { rows: DiffRow[]; diff: Diff }) {
  const axis = ratioAxis(rows.flatMap((row) => (row.change === null ? [] : [1 + row.change, 1 + (row.low ?? row.change), 1 + (row.high ?? row.change)])), diff.threshold);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(400);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => box.current && setWidth(Math.max(box.current.clientWidth, 60)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <table class="compare-table">
      <thead>
        <tr>
          <th>Metric</th>
          <th>Of</th>
          <th class="num wide">Count</th>
          <th class="num">A</th>
          <th class="num">B</th>
          <th class="num wide">Change</th>
          <th class="num">Ratio</th>
          <th class="num">95 % interval</th>
          <th class="forest-cell">
            <AxisHead axis={axis} width={width} box={box} />
          </th>
          <th>Verdict</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <td>
              {row.category && <Swatch of={row.category} />} <b>{row.category ? categoryName(row.category) : row.name}</b>
            </td>
            <td class="cut">{row.category ? [row.model, row.function === 'main' ? '' : row.function].filter(Boolean).join(' · ') : row.model || row.kind}</td>
            <td class="num dim wide">{counts(row)}</td>
            <td class="num">{median(row.a)}</td>
            <td class="num">
              <b>{median(row.b)}</b>
            </td>
            <td class={`num wide ${tone(row)}`}>{row.a.count && row.b.count ? difference(row) : ''}</td>
            <td class="num">{row.change === null ? '–' : (1 + row.change).toFixed(3)}</td>
            <td class="num dim">{interval(row, diff.floor_ns)}</td>
            <td class="forest-cell">
              <Forest row={row} axis={axis} threshold={diff.threshold} width={width} />
            </td>
            <td title={why(row, diff)}>
              <VerdictChip verdict={row.verdict} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Operators or zones: how much time more or less, in all. */
function Most({ title, rows, of, diff }: { title: string; rows: DiffRow[]; of: string; diff: Diff }) {
  const gain = (row: DiffRow): number => (row.verdict === 'NEW' ? row.b.median_ns : row.verdict === 'GONE' ? -row.a.median_ns : row.b.median_ns - row.a.median_ns);
  const most = Math.max(...rows.map((row) => Math.abs(gain(row))), 1);
  if (!rows.length) return null;
  return (
    <section class="compare-most">
      <Head title={title}>{of}</Head>
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th class="num wide">Count</th>
            <th class="num">A</th>
            <th class="num">B</th>
            <th class="change-cell">Change</th>
            <th class="num">Ratio</th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => {
            const part = (gain(row) / most) * 50;
            return (
              <tr key={i}>
                <td class="cut" title={[row.name, row.model].filter(Boolean).join(' · ')}>
                  <b>{row.name}</b>
                </td>
                <td class="num dim wide">{counts(row)}</td>
                <td class="num">{median(row.a)}</td>
                <td class="num">
                  <b>{median(row.b)}</b>
                </td>
                <td class="change-cell">
                  <span class="change-bar" aria-hidden="true">
                    <i style={{ left: `${Math.min(50, 50 + part)}%`, width: `${Math.abs(part)}%`, background: row.change === null && row.verdict !== 'UNSURE' ? 'var(--mute)' : part > 0 ? 'var(--bad)' : 'var(--good)', opacity: row.verdict === 'SAME' || row.verdict === 'UNSURE' ? 0.35 : 1 }} />
                  </span>
                  <span class={tone(row)}>{row.a.count && row.b.count ? difference(row) : ''}</span>
                </td>
                <td class="num">{row.change === null ? '–' : (1 + row.change).toFixed(2)}</td>
                <td title={why(row, diff)}>
                  <VerdictChip verdict={row.verdict} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

const ORDER: Verdict[] = ['REGRESSED', 'IMPROVED', 'SAME', 'UNSURE', 'NEW', 'GONE'];
const ROWS = 16;
const ALL_ROWS = 1000;

const howMany = (shown: number, all: number): string => (shown < all ? `the ${count(shown)} of ${count(all)} that changed most` : `all ${count(all)}, those that changed most first`);

export interface CompareProps {
  diff: Diff;
  pickers: ComponentChildren;
  all: boolean;
  setAll: (all: boolean) => void;
  /** What can be set. */
  fields?: ComponentChildren;
  chart?: (model: string) => ComponentChildren;
}

export function CompareBody({ diff, pickers, all, setAll, fields, chart }: CompareProps) {
  const { title, more } = headline(diff);
  const common = inCommon(diff);
  const rows = all ? ALL_ROWS : ROWS;
  const ml = diff.rows.filter((row) => row.kind === 'ml').sort((x, y) => Math.max(y.a.total_ns, y.b.total_ns) - Math.max(x.a.total_ns, x.b.total_ns));
  const ops = diff.rows.filter((row) => row.kind === 'op');
  const zones = diff.rows.filter((row) => /zone|stage/.test(row.kind));
  const kernels = diff.rows.filter((row) => /device|driver/.test(row.kind));
  const main = ml.find((row) => row.category === 'inference' && row.a.count > 0 && row.b.count > 0);
  const judged = ml.length ? ml : changedMost(zones, rows);
  const most = (name: string, of: DiffRow[]) => <Most title={name} rows={changedMost(of, rows)} of={`${howMany(Math.min(rows, of.length), of.length)}${of.some((row) => row.host_time) ? ` · ${HOST_TIME}` : ''}`} diff={diff} />;
  return (
    <>
      <section class="compare-top">
        <div>
          <h1>{unbroken(title)}</h1>
          {more && <p class="sub">{unbroken(more)}</p>}
          {common && <p class="sub">{unbroken(common)}</p>}
          <p class="compare-chips">{ORDER.filter((verdict) => diff.counts[verdict] > 0).map((verdict) => <VerdictChip key={verdict} verdict={verdict} n={diff.counts[verdict]} />)}</p>
        </div>
        {pickers}
      </section>
      <div class="compare-body">
        <section>
          <Head title="What changed">
            medians · ratio B / A of blocks of time, with its 95 % interval · ‹ better, worse › · the grey band is ±{percent(diff.threshold).replace('.0', '')}, too small to matter
          </Head>
          <div class="compare-fields">
            {fields}
            <label class="tick">
              <input type="checkbox" checked={all} onChange={(event) => setAll((event.target as HTMLInputElement).checked)} />
              Every operator and zone, not only what changed most
            </label>
          </div>
          {judged.length ? <Changes rows={judged} diff={diff} /> : <p class="sub">The recordings have nothing in common to compare.</p>}
        </section>
        <div class="compare-two">
          {most('Operators', ops)}
          {chart && main && chart(main.model)}
          {ml.length > 0 && most('Zones', zones)}
          {most('Kernels', kernels)}
        </div>
        {diff.differences.length > 0 && (
          <section>
            <Head title="How the recordings differ" />
            <table>
              <tbody>
                {diff.differences.map((one) => (
                  <tr key={one.what}>
                    <td class="faint">{capital(one.what)}</td>
                    <td class="cut-wide">A: {one.a || 'none'}</td>
                    <td class="cut-wide">B: {one.b || 'none'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
      <footer class="compare-foot">
        <b>How it was decided</b>
        <span>interval: over blocks of time</span>
        <span>regressed or improved: the whole interval lies beyond ±{percent(diff.threshold).replace('.0', '')}</span>
        <span>same: inside</span>
        <span>unsure: neither</span>
        {diff.warning && <span>{capital(diff.warning)}.</span>}
        <span class="grow" />
        <span>
          <code>inferogram diff</code> says: {diff.verdict}
        </span>
      </footer>
    </>
  );
}
