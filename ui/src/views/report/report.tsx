// SPDX-License-Identifier: Apache-2.0
// The first page of a report that was mailed: the words of the summary in one column, which also reads well on paper.
import { useEffect } from 'preact/hooks';
import { leftOut as partsLeftOut } from '../../api/embedded.ts';
import type { Report, ReportModel } from '../../api/report.ts';
import type { Points } from '../../api/types.ts';
import { day } from '../../base/day.ts';
import { count, duration, percent } from '../../base/format.ts';
import { plural, providerName, unbroken } from '../../base/words.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { bin, drawHistogram, type Bins, type Marks } from '../../draw/histogram.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { ModelTable, PlacementBar } from '../../widgets/modeltable.tsx';
import { Head } from '../../widgets/parts.tsx';
import { usePaper } from '../../widgets/paper.ts';
import { locationsOf, modelId, openCategory } from '../../widgets/locations.ts';
import { Energy } from '../../widgets/energy.tsx';
import { Findings } from '../../widgets/findings.tsx';
import { instrumentLines, leftOut, sentence } from '../../data/summary.ts';
import { Operators, Start } from '../../widgets/timebars.tsx';
import { Beginning } from './beginning.tsx';

function Facts({ state, report }: { state: State; report: Report | null }) {
  const { meta } = state;
  const cores = report?.host.cpus;
  const lost = report?.drops ?? meta.dropped;
  const facts: [string, string][] = [
    ['Program', [meta.program, meta.pid ? `pid ${meta.pid}` : ''].filter(Boolean).join(', ')],
    ['Machine', [meta.host, report?.host.cpu || meta.cpu, cores ? `${cores} ${plural(cores, 'core')}` : ''].filter(Boolean).join(', ')],
    ['Runtime', meta.runtimes.join(', ') || 'none was recorded'],
    ['Length', `${duration(state.length)}, ${count(meta.zones)} events, ${count(lost)} lost`],
  ];
  return (
    <dl class="report-facts">
      {facts.filter(([, value]) => value).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Placement({ report }: { report: Report }) {
  const asked = [...new Set(report.models.flatMap((model) => model.placement.requested.map(providerName)))];
  return (
    <section>
      <Head title="Where the models ran">{asked.length ? `asked for ${asked.join(', ')}` : ''}</Head>
      {report.models.map((model) => (
        <div class="placement-row" key={model.name}>
          <b class="cut" title={model.path}>
            {model.name}
          </b>
          <PlacementBar model={model} />
        </div>
      ))}
    </section>
  );
}

function Histogram({ model, first, points }: { model: ReportModel; first: { histogram: Bins | null } | null; points: Points | null }) {
  const bins = first?.histogram ?? (points && points.count > 1 ? bin(points.duration, 48, true) : null);
  const events = model.functions[0]?.events.inference;
  if (!bins || !events) return null;
  const ms = (value: number | null): number => (value ?? NaN) * 1e6;
  const marks: Marks = { median: ms(events.median_ms), p90: ms(events.p90_ms), p99: ms(events.p99_ms), this: null, n: events.count };
  const total = bins.bins.reduce((sum, n) => sum + n, 0);
  return (
    <div>
      <Head title="Inference time">
        {model.name} · {count(total)}, log count
      </Head>
      <Chart height={176} label={`How long inferences of ${model.name} took`} keys={[bins]} draw={(context, width, height, palette) => drawHistogram(context, bins, marks, 0, 0, width, height, palette.category('inference').fill, palette)}>
        <TwinTable title="Inference time" head={['of', 'took']} rows={[['median', duration(marks.median)], ['p90', duration(marks.p90)], ['p99', duration(marks.p99)]]} />
      </Chart>
    </div>
  );
}

const ZONES = 12;

/** Without a model: what took the time. */
function Zones({ state }: { state: State }) {
  const { value } = useAsk(() => state.source.stats('zone', {}), [state]);
  if (!value?.rows.length) return null;
  return (
    <section>
      <Head title="Zones">those with most time of {duration(state.length)}</Head>
      <table>
        <thead>
          <tr>
            <th>Zone</th>
            {['Count', 'Median', 'p90', 'p99', 'Max', 'Total', 'Share'].map((name) => (
              <th key={name} class="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {value.rows.slice(0, ZONES).map((row, i) => (
            <tr key={i}>
              <td class="cut">{row.name}</td>
              <td class="num">{count(row.count)}</td>
              {[row.p50_ns, row.p90_ns, row.p99_ns, row.max_ns, row.total_ns].map((ns, k) => (
                <td key={k} class="num">
                  {duration(ns)}
                </td>
              ))}
              <td class="num">{percent(row.share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Instruments({ state, report }: { state: State; report: Report | null }) {
  const cost = report?.overhead.recorder_cpu_share;
  return (
    <section>
      <Head title="Instruments">{cost !== null && cost !== undefined ? `recording took ${percent(cost)} of one CPU` : ''}</Head>
      <ul class="report-instruments">
        {instrumentLines(state.meta.instruments, state.meta, report).map((line) => (
          <li key={line.name}>
            <span class={line.word === 'on' ? 'good' : line.word === 'partly' ? 'warn' : 'off'} aria-label={line.word}>
              {line.mark}
            </span>
            <span>{line.name}</span>
            <span class="sub">{line.words}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What is not in the file, in words. */
function LeftOut({ state }: { state: State }) {
  const { value, error } = useAsk(() => partsLeftOut(state.source), [state]);
  if (!value) return <>{error}</>;
  const slowest = value.byModel ? plural(value.slowest, 'inference') : plural(value.slowest, 'outermost zone');
  const zones = value.exact
    ? `Nothing: all ${count(value.slices)} zones are in this file.`
    : `${count(value.kept)} of ${count(value.slices)} zones are in this file one by one: all that last ${duration(value.leastNs)} or longer${value.slowest ? `, and everything during the ${count(value.slowest)} slowest ${slowest}` : ''}. Shorter ones are merged in the timeline; the statistics include all of them.`;
  const code = state.meta.has.samples ? ` Samples are here as calls on the timeline and as flame graphs of the whole trace; ${value.code ? 'code is included for the functions with most samples' : 'the code of functions did not fit'}.` : '';
  const details = value.allArguments ? '' : ' Arguments of events are kept for loads and for the slowest inferences.';
  return (
    <>
      {zones}
      {code}
      {details} Statistics of a part of the time need the trace itself and <code>inferogram serve</code>. One file, no network.
    </>
  );
}

function Models({ state, report }: { state: State; report: Report }) {
  const main = report.models[0]!;
  const id = modelId(state, main);
  const runs = useAsk(() => (id >= 0 ? state.source.runs(id) : Promise.resolve(null)), [id]);
  const first = useAsk(async () => {
    const locations = locationsOf(state, (one) => one.category === 'inference' && one.model === id);
    const found = locations.length ? await state.source.next(locations, -1, 1) : null;
    return found && found.id !== null ? state.source.slice(found.id) : null;
  }, [id]);
  const out = leftOut(report);
  return (
    <>
      <Placement report={report} />
      <section>
        <Head title="Models">
          share of {duration(report.duration_s * 1e9)}
          {out ? ` · times leave out the ${count(out)} ${plural(out, 'inference')} with operators on, except First` : ''}
        </Head>
        <ModelTable report={report} models={report.models} open={openCategory(state)} title={(model) => (state.model.set(modelId(state, model)), state.page.set('models'))} />
      </section>
      <Energy report={report} />
      {!first.busy && <Beginning state={state} first={first.value} />}
      <section>
        <Start report={report} first={first.value} />
      </section>
      <Found report={report} state={state} />
      <section class="report-two">
        <Histogram model={main} first={first.value} points={runs.value} />
        <Operators state={state} model={main} />
      </section>
    </>
  );
}

const Found = ({ report, state }: { report: Report; state: State }) => (
  <section class="report-findings">
    <Findings report={report} state={state} />
  </section>
);

export function ReportPage({ state }: { state: State }) {
  const { value: report, error } = useAsk(() => reportOf(state.source), [state]);
  usePaper();
  const started = day(state.meta.start);
  useEffect(() => {
    document.title = `${state.meta.title || state.meta.program} · Inferogram report`;
  }, []);
  return (
    <main class="report">
      <div class="report-page">
        <header class="report-head">
          <b>Inferogram report</b>
          <span class="sub">{[state.meta.title || state.meta.program, started ? `recorded ${started}` : ''].filter(Boolean).join(' · ')}</span>
          <span class="grow" />
          <button class="button" onClick={() => window.print()}>
            Print
          </button>
        </header>
        <h1>{report ? (report.models.length ? unbroken(sentence(report)) : 'This recording contains no model.') : error || '\u00a0'}</h1>
        <Facts state={state} report={report} />
        {report && report.models.length > 0 && <Models state={state} report={report} />}
        {report && report.models.length === 0 && (
          <>
            <Zones state={state} />
            <Beginning state={state} first={null} />
            <Found report={report} state={state} />
          </>
        )}
        <Instruments state={state} report={report} />
        <footer class="report-end">
          <p>
            <b>What the numbers mean.</b> Inference is the time inside the runtime's Run call. First is the first event of its kind. Percentiles interpolate linearly. Specialization lies inside Load; its share is counted in both. Shares are of the whole recording.
          </p>
          <p>
            <b>What was left out.</b> <LeftOut state={state} />
          </p>
        </footer>
      </div>
    </main>
  );
}
