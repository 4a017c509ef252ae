// SPDX-License-Identifier: Apache-2.0
// The page that `inferogram bench --html` writes: how long it takes, how sure that is, and whether the machine can be trusted.
import { useEffect } from 'preact/hooks';
import { intervalOf, measured, rowsOf, type Bench, type BenchRow } from '../../api/bench.ts';
import { day } from '../../base/day.ts';
import { bytes, count, duration, percent } from '../../base/format.ts';
import { capital, deviceOf, HOST_TIME, plural, providerName, unbroken } from '../../base/words.ts';
import { drawEcdf, drawSamples } from '../../draw/measured.ts';
import { bin, drawHistogram } from '../../draw/histogram.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { usePaper } from '../../widgets/paper.ts';
import { Head, Share } from '../../widgets/parts.tsx';
import { Parts } from '../../widgets/timebars.tsx';

const ms = (value: number | null | undefined): string => (value === null || value === undefined ? '–' : duration(value * 1e6));

function Words({ bench, row }: { bench: Bench; row: BenchRow }) {
  const range = intervalOf(row, 'p50');
  const level = row.trust?.level ?? '';
  const bad = (row.trust?.lines ?? []).filter((line) => line.level === 'BAD' || line.level === 'WARN');
  return (
    <>
      <h1>
        {row.available && row.p50_ms !== null ? `${ms(row.p50_ms)} at the median${row.throughput_fps ? `, ${count(row.throughput_fps)} ${plural(row.throughput_fps, 'inference')} a second` : ''}` : `Not measured: ${row.reason}`}
        {level === 'BAD' ? ', on a machine that was too busy to trust' : level === 'WARN' ? ', on a slightly disturbed machine' : ''}.
      </h1>
      <p class="sub">
        {range ? `The median is between ${ms(range.low)} and ${ms(range.high)} with 95 % confidence. ` : ''}
        {count(row.count)} {plural(row.count, 'sample')} of {count(row.processes.length)} {plural(row.processes.length, 'process', 'processes')}.{bench.interrupted ? ' The benchmark was interrupted.' : ''}
        {bad.length ? ` ${unbroken(capital(bad.map((line) => `${line.name} ${line.text}`).join(', ')))}.` : ''}
      </p>
    </>
  );
}

function Facts({ bench }: { bench: Bench }) {
  const facts: [string, string][] = [
    ['Model', [bench.model.name, bench.model.parameters ? `${count(bench.model.parameters)} parameters` : '', bench.model.precision, bytes(bench.model.bytes)].filter(Boolean).join(', ')],
    ['Runtime', [bench.runtime.name, bench.runtime.version].join(' ')],
    ['Machine', [bench.host.name, bench.host.cpu, `${bench.host.cpus} ${plural(bench.host.cpus, 'core')}`].filter(Boolean).join(', ')],
    ['Inputs', bench.inputs],
  ];
  return (
    <dl class="report-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const LINES: [string, keyof BenchRow & string][] = [
  ['Median', 'p50_ms'],
  ['p90', 'p90_ms'],
  ['p95', 'p95_ms'],
  ['p99', 'p99_ms'],
  ['p99.9', 'p999_ms'],
];

function Figures({ row }: { row: BenchRow }) {
  return (
    <section>
      <Head title="Latency">
        mean {ms(row.mean_ms)}, standard deviation {ms(row.std_ms)}, {ms(row.min_ms)} to {ms(row.max_ms)}, {count(row.outliers)} {plural(row.outliers, 'outlier')}
      </Head>
      <table>
        <thead>
          <tr>
            <th />
            <th class="num">Measured</th>
            <th class="num">95 % interval</th>
            <th>How</th>
          </tr>
        </thead>
        <tbody>
          {LINES.map(([name, key]) => {
            const interval = intervalOf(row, key.replace('_ms', ''));
            const needs = (row.intervals?.[key.replace('_ms', '')] as { needs?: number } | undefined)?.needs;
            return (
              <tr key={name}>
                <td>
                  <b>{name}</b>
                </td>
                <td class="num">{ms(measured(row, key))}</td>
                <td class="num">{interval ? `${ms(interval.low)} – ${ms(interval.high)}` : <span class="faint">{needs ? `needs ${count(needs)} samples` : '–'}</span>}</td>
                <td class="sub">{interval?.method ?? ''}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Several({ rows }: { rows: BenchRow[] }) {
  const most = Math.max(...rows.map((row) => row.p50_ms ?? 0), 1e-9);
  return (
    <section>
      <Head title="Settings">{rows.length} were measured</Head>
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th class="num">Median</th>
            <th />
            <th class="num">p90</th>
            <th class="num">p99</th>
            <th class="num">First</th>
            <th class="num">Load</th>
            <th class="num">Per second</th>
            <th class="num">Peak</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td title={row.settings}>
                <b>{row.name}</b>
              </td>
              {row.available ? (
                <>
                  <td class="num">{ms(row.p50_ms)}</td>
                  <td>
                    <Share part={(row.p50_ms ?? 0) / most} color="var(--cat-inference)" width={90} />
                  </td>
                  <td class="num">{ms(measured(row, 'p90_ms'))}</td>
                  <td class="num">{ms(measured(row, 'p99_ms'))}</td>
                  <td class="num">{ms(row.first_ms)}</td>
                  <td class="num">{ms(row.load_ms)}</td>
                  <td class="num">{row.throughput_fps === null ? '–' : count(row.throughput_fps)}</td>
                  <td class="num">{row.memory?.peak_bytes ? bytes(row.memory.peak_bytes) : '–'}</td>
                </>
              ) : (
                <td colSpan={8} class="sub">
                  not measured: {row.reason}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Plots({ row }: { row: BenchRow }) {
  const samples = row.raw_samples_ms.map((value) => value * 1e6);
  if (samples.length < 2) return null;
  const bins = bin(samples, 48, Math.max(...samples) > 30 * Math.min(...samples));
  const ns = (value: number | null): number => (value ?? NaN) * 1e6;
  const marks = { median: ns(row.p50_ms), p90: ns(measured(row, 'p90_ms')), p99: ns(measured(row, 'p99_ms')), this: null, n: samples.length };
  const shares: [string, number, number | null][] = [
    ['p50', 0.5, row.p50_ms === null ? null : ns(row.p50_ms)],
    ['p90', 0.9, measured(row, 'p90_ms') === null ? null : ns(measured(row, 'p90_ms'))],
    ['p99', 0.99, measured(row, 'p99_ms') === null ? null : ns(measured(row, 'p99_ms'))],
  ];
  const twin = <TwinTable title="Latency" head={['of', 'took']} rows={LINES.map(([name, key]) => [name, ms(measured(row, key))])} />;
  return (
    <>
      <section>
        <Head title="Samples in order">lines separate processes · grey: disturbed · dashed: median</Head>
        <Chart height={190} label="Latency over the iterations" keys={[row]} draw={(context, width, height, palette) => drawSamples(context, samples, row.blocks, ns(row.p50_ms), width, height, palette)}>
          {twin}
        </Chart>
      </section>
      <section class="report-two">
        <div>
          <Head title="How often">{count(samples.length)}, log count</Head>
          <Chart height={176} label="Latency histogram" keys={[row]} draw={(context, width, height, palette) => drawHistogram(context, bins, marks, 0, 0, width, height, palette.category('inference').fill, palette)} />
        </div>
        <div>
          <Head title="Cumulative distribution" />
          <Chart height={176} label="Cumulative distribution of latency" keys={[row]} draw={(context, width, height, palette) => drawEcdf(context, samples, shares, width, height, palette)} />
        </div>
      </section>
    </>
  );
}

function ColdStart({ row }: { row: BenchRow }) {
  const special = row.specialization_ms ?? 0;
  const parts = [
    { name: 'Process', value: (row.start_ms ?? 0) * 1e6, color: 'var(--zone-1)', ink: 'var(--zone-ink)' },
    { name: 'Load', value: Math.max((row.load_ms ?? 0) - special, 0) * 1e6, color: 'var(--cat-load)', ink: 'var(--cat-load-ink)' },
    { name: 'Specialization', value: special * 1e6, color: 'var(--cat-specialization)', ink: 'var(--cat-specialization-ink)', hatched: true },
    { name: 'First inference', value: (row.first_ms ?? 0) * 1e6, color: 'var(--cat-inference)', ink: 'var(--cat-inference-ink)' },
  ].filter((part) => part.value > 0);
  const memory = row.memory;
  return (
    <section class="report-two">
      {parts.length > 0 && <Parts title="Cold start" of={`${duration(parts.reduce((sum, part) => sum + part.value, 0))}, medians of the processes`} parts={parts} />}
      <div>
        <Head title="Memory and placementmentmentment" />
        <p>{row.placement.length ? row.placement.map((one) => `${providerName(one.provider)} ${count(one.nodes)} ${plural(one.nodes, 'node')}`).join(', ') : 'It is unknown where the nodes ran.'}</p>
        {memory && memory.peak_bytes > 0 && (
          <p class="sub">
            Peak {bytes(memory.peak_bytes)}, {bytes(memory.delta_bytes)} more than before the model was loaded; {bytes(memory.after_load_bytes)} after loading, {bytes(memory.after_runs_bytes)} after the runs.
          </p>
        )}
      </div>
    </section>
  );
}

const OPERATORS = 15;

function Operators({ row }: { row: BenchRow }) {
  if (!row.operators?.length) return row.operators_reason ? <p class="sub">Operators: {row.operators_reason}</p> : null;
  const most = Math.max(...row.operators.map((op) => op.share), 1e-9);
  return (
    <section>
      <Head title="Operators">
        the {Math.min(OPERATORS, row.operators.length)} of {count(row.operators.length)} nodes with most time{row.operators_host_time ? ` · ${HOST_TIME}` : ''}
      </Head>
      <table>
        <thead>
          <tr>
            <th>Node</th>
            <th>Operator</th>
            <th>Ran on</th>
            <th class="num">Median</th>
            <th class="num">Share</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {row.operators.slice(0, OPERATORS).map((op, i) => (
            <tr key={i}>
              <td class="cut">{op.name}</td>
              <td>{op.op_type}</td>
              <td>{providerName(op.provider)}</td>
              <td class="num">{ms(op.p50_ms)}</td>
              <td class="num">{percent(op.share)}</td>
              <td>
                <Share part={op.share / most} color={`var(--dev-${deviceOf(op.provider)})`} width={90} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const LEVELS: Record<string, [string, string]> = { OK: ['good', '●'], WARN: ['warn', '◐'], BAD: ['bad-word', '▲'] };

function Trust({ row }: { row: BenchRow }) {
  if (!row.trust) return null;
  return (
    <section>
      <Head title="Was the machine quiet?">{row.trust.level}</Head>
      <ul class="report-instruments">
        {row.trust.lines.map((line) => (
          <li key={line.name}>
            <span class={LEVELS[line.level]?.[0] ?? 'off'} aria-label={line.level}>
              {LEVELS[line.level]?.[1] ?? '○'}
            </span>
            <span>{capital(line.name)}</span>
            <span class="sub">{line.text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function BenchPage({ bench }: { bench: Bench }) {
  const rows = rowsOf(bench);
  usePaper();
  const main = rows.find((row) => row.available) ?? rows[0]!;
  useEffect(() => {
    document.title = `${bench.model.name} · Inferogram benchmark`;
  }, []);
  return (
    <div class="frame">
      <main class="report">
        <div class="report-page">
          <header class="report-head">
            <b>Inferogram benchmark</b>
            <span class="sub">{[bench.model.name, day(bench.when)].filter(Boolean).join(' · ')}</span>
            <span class="grow" />
            <button class="button" onClick={() => window.print()}>
              Print
            </button>
          </header>
          <Words bench={bench} row={main} />
          <Facts bench={bench} />
          {rows.length > 1 && <Several rows={rows} />}
          {main.available && (
            <>
              <Figures row={main} />
              <Plots row={main} />
              <ColdStart row={main} />
              <Operators row={main} />
            </>
          )}
          <Trust row={main} />
          <footer class="report-end">
            <p>
              <b>What the numbers mean.</b> Percentiles: {bench.definitions['percentile'] ?? ''}. Standard deviation: {bench.definitions['std_ms'] ?? ''}. Outliers: {bench.definitions['outliers'] ?? ''}.
            </p>
            <p>
              <b>How it was measured.</b> <code>{bench.options.command_line.split(' ').map((word) => [<span class={word.length < 30 ? 'unbroken' : ''}>{word}</span>, ' '])}</code>, Inferogram {bench.tool_version}. Every sample is in this file. One file, no network.
            </p>
          </footer>
        </div>
      </main>
    </div>
  );
}
