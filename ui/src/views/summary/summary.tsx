// SPDX-License-Identifier: Apache-2.0
// The first page: how fast it is, what is wrong, where the models ran, which option fixes it; below, what was and was not recorded.
import { useMemo, useState } from 'preact/hooks';
import { asReport, type Report, type ReportModel } from '../../api/report.ts';
import type { Points } from '../../api/types.ts';
import { count, duration, percent } from '../../base/format.ts';
import { categoryClass, deviceOf, plural, providerName } from '../../base/words.ts';
import type { State } from '../../data/state.ts';
import { dotAt, dotScale, drawDots, type DotFrame } from '../../draw/dots.ts';
import { Chart, Tip, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { ModelTable, PlacementBar, type OpenCategory } from '../../widgets/modeltable.tsx';
import { Head, Nothing, Share, StackBar, type Segment } from '../../widgets/parts.tsx';
import { goToPlaces, placesOf } from '../../widgets/places.ts';
import { Findings } from './findings.tsx';
import { Bottom } from './bottom.tsx';
import { leftOut, requestParts, sentence, startParts, subline } from './parts.ts';

export const modelId = (state: State, name: string): number => state.meta.models.find((model) => model.name === name)?.id ?? -1;

export function openCategory(state: State): OpenCategory {
  return (model, name, category) =>
    void goToPlaces(
      state,
      placesOf(state, (place) => place.category === category && place.function === name && state.meta.models.find((one) => one.id === place.model)?.name === model.name),
      category,
    );
}

function Top({ report, state }: { report: Report; state: State }) {
  const asked = [...new Set(report.models.flatMap((model) => model.placement.requested.map(providerName)))];
  const devices = [...new Set(report.models.flatMap((model) => Object.keys(model.placement.nodes).map(deviceOf)))];
  return (
    <section class="summary-top">
      <div>
        <h1>{sentence(report)}</h1>
        <p class="sub">{subline(report, state.meta)}</p>
      </div>
      {report.models.length > 0 && (
        <div class="placement">
          <h2>Where the models ran</h2>
          {report.models.slice(0, 4).map((model) => (
            <div class="placement-row" key={model.name}>
              <b class="cut" title={model.path}>
                {model.name}
              </b>
              <PlacementBar model={model} />
            </div>
          ))}
          {report.models.length > 4 && (
            <button class="link" onClick={() => state.page.set('models')}>
              {report.models.length - 4} more {plural(report.models.length - 4, 'model')}
            </button>
          )}
          <div class="placement-row faint">
            <span>{asked.length ? `Asked for ${asked.join(', ')}` : ''}</span>
            <span class="keys">
              {devices.map((device) => (
                <span class="key" key={device}>
                  <span class={`sw ${device}`} />
                  {device.toUpperCase()}
                </span>
              ))}
            </span>
            <span>{[report.host.cpu, report.host.cpus ? `${report.host.cpus} ${plural(report.host.cpus, 'core')}` : ''].filter(Boolean).join(' · ')}</span>
          </div>
        </div>
      )}
    </section>
  );
}

function Parts({ title, of, parts }: { title: string; of: string; parts: Segment[] }) {
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  return (
    <div>
      <Head title={title}>{of}</Head>
      <StackBar parts={parts.map((part) => ({ ...part, text: percent(part.value / all) }))} height={26} label={`${title}: ${parts.map((part) => `${part.name} ${duration(part.value)}`).join(', ')}`} />
      <div class="legend">
        {parts.map((part) => (
          <span class="key" key={part.name}>
            <span class={`sw${part.hatched ? ' specialization' : ''}`} style={part.hatched ? {} : { background: part.color, borderColor: 'var(--ghost-edge)' }} />
            {part.name} <b>{duration(part.value)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

function Start({ report, runs }: { report: Report; runs: Points | null }) {
  const request = requestParts(report);
  const start = startParts(report.models[0], runs);
  if (!request.parts.length && !start.length) return null;
  const zones = ['var(--zone-3)', 'var(--zone-4)', 'var(--zone-1)', 'var(--zone-2)', 'var(--zone-5)'];
  return (
    <div class="summary-start">
      {request.parts.length > 0 && (
        <Parts
          title="One request"
          of={request.of}
          parts={request.parts.map((part, i) => ({ name: part.name, value: part.ms * 1e6, color: part.inference ? 'var(--cat-inference)' : zones[i % zones.length]!, ink: part.inference ? 'var(--cat-inference-ink)' : 'var(--zone-ink)' }))}
        />
      )}
      {start.length > 0 && (
        <Parts
          title="From start to first answer"
          of={duration(start.reduce((sum, part) => sum + part.ms, 0) * 1e6)}
          parts={start.map((part) => {
            const name = part.category ? `cat-${categoryClass(part.category)}` : 'zone-1';
            return { name: part.name, value: part.ms * 1e6, color: `var(--${name})`, ink: `var(--${part.category ? `${name}-ink` : 'zone-ink'})`, hatched: part.category === 'specialization' };
          })}
        />
      )}
    </div>
  );
}

const DOTS_HEIGHT = 148;

function Dots({ state, model, points }: { state: State; model: ReportModel; points: Points }) {
  const [chosen, choose] = useState(-1);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const [width, setWidth] = useState(500);
  const scale = useMemo(() => dotScale(points), [points]);
  const frame: DotFrame = { view: { from: 0, to: state.length }, scale, width, height: DOTS_HEIGHT };
  const slowest = useMemo(() => [...points.duration.keys()].sort((a, b) => points.duration[b]! - points.duration[a]!).slice(0, 10), [points]);
  const open = (i: number) => i >= 0 && state.goTo(points.start[i]!, points.start[i]! + points.duration[i]!, points.id[i]!);
  const key = (event: KeyboardEvent) => {
    const step: Record<string, number> = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: points.count - 1 };
    if (event.key === 'Enter') open(chosen);
    else if (event.key in step) choose(Math.min(Math.max(step[event.key]!, 0), points.count - 1));
    else return;
    setAt(null);
    event.preventDefault();
  };
  return (
    <div>
      <Head title="Inference time over the run">
        {model.name} · {chosen >= 0 && !at ? `${duration(points.duration[chosen]!)} at ${duration(points.start[chosen]!)}, Enter shows it` : 'each dot one inference'}
      </Head>
      <Chart
        height={DOTS_HEIGHT}
        class="clickable"
        label={`Inference times of ${model.name} over the run. Arrow keys walk through them, Enter shows one on the timeline.`}
        focusable
        keys={[points, chosen, width]}
        onSize={(w) => setWidth(w)}
        draw={(context, w, h, palette) => drawDots(context, points, { ...frame, width: w, height: h }, chosen, palette)}
        onMove={(x, y, event) => {
          const i = dotAt(points, frame, x, y);
          choose(i);
          setAt(i >= 0 ? { x: event.clientX, y: event.clientY } : null);
        }}
        onLeave={() => (setAt(null), choose(-1))}
        onPick={(x, y) => open(dotAt(points, frame, x, y))}
        onKey={key}
      >
        <TwinTable title="The slowest inferences" head={['began at', 'took']} rows={slowest.map((i) => [duration(points.start[i]!), duration(points.duration[i]!)])} />
      </Chart>
      <Tip at={chosen >= 0 ? at : null}>
        <b>{duration(points.duration[chosen] ?? 0)}</b> at {duration(points.start[chosen] ?? 0)}
        <div class="sub">click: on the timeline</div>
      </Tip>
    </div>
  );
}

const OPERATORS = 6;

function Operators({ state, model }: { state: State; model: ReportModel }) {
  const runs = model.profiling.inferences;
  if (!model.operators.length || !runs) return null;
  const device = Object.keys(model.placement.nodes).length === 1 ? deviceOf(Object.keys(model.placement.nodes)[0]!) : null;
  const each = model.operators.map((op) => ({ name: op.type, many: op.count / runs, ns: (op.self_ms / runs) * 1e6 }));
  const shown = each.slice(0, OPERATORS - 1);
  const rest = each.slice(OPERATORS - 1);
  if (rest.length) shown.push({ name: 'other', many: rest.reduce((n, op) => n + op.many, 0), ns: rest.reduce((n, op) => n + op.ns, 0) });
  const most = Math.max(...shown.map((op) => op.ns), 1);
  return (
    <div>
      <Head title="Operators">of {duration(each.reduce((n, op) => n + op.ns, 0))} a run</Head>
      <table class="tight">
        <tbody>
          {shown.map((op) => (
            <tr key={op.name} class="opens" onClick={() => state.page.set('operators')}>
              <td class="cut">
                {op.name} <span class="faint">× {count(op.many)}</span>
              </td>
              <td class="bar-cell">
                <Share part={op.ns / most} color={device ? `var(--dev-${device})` : 'var(--st-running)'} width={70} />
              </td>
              <td class="num">{duration(op.ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button class="link" onClick={() => state.page.set('operators')}>
        All operators
      </button>
    </div>
  );
}

function NoModels({ report, state }: { report: Report; state: State }) {
  return (
    <Nothing title="No model was seen." say={(words) => state.say(words)} command={`inferogram record --ops -- ${state.meta.processes.find((process) => process.arguments)?.arguments || state.meta.program}`}>
      {state.meta.runtimes.length ? `${state.meta.runtimes.join(', ')} was there, but nothing was loaded while it was recorded.` : 'No runtime that can be watched was loaded by the program.'} There are {count(state.meta.zones)} zones
      {state.meta.has.samples ? ' and samples' : ''} in these {duration(report.duration_s * 1e9)}: see the timeline and the statistics.
    </Nothing>
  );
}

function Middle({ report, state }: { report: Report; state: State }) {
  const main = report.models[0];
  const id = main ? modelId(state, main.name) : -1;
  const runs = useAsk(() => (id >= 0 ? state.source.runs(id) : Promise.resolve(null)), [id]);
  const out = leftOut(report);
  return (
    <div class="summary-middle">
      <div class="summary-left">
        {main ? (
          <>
            <Head title="Models">
              share of {duration(report.duration_s * 1e9)}
              {out ? ` · times leave out the ${count(out)} ${plural(out, 'inference')} with operators on, except First` : ''}
            </Head>
            <ModelTable report={report} models={report.models.slice(0, 6)} open={openCategory(state)} title={(model) => (state.model.set(modelId(state, model.name)), state.page.set('models'))} />
            <Start report={report} runs={runs.value} />
            <div class="summary-two">
              {runs.value && runs.value.count > 1 && <Dots state={state} model={main} points={runs.value} />}
              <Operators state={state} model={main} />
            </div>
          </>
        ) : (
          <NoModels report={report} state={state} />
        )}
      </div>
      <div class="summary-right">
        <Findings report={report} state={state} />
      </div>
    </div>
  );
}

export function Summary({ state }: { state: State }) {
  const { value, error } = useAsk(() => state.source.report(), [state]);
  const report = value ? asReport(value) : null;
  return (
    <main class="summary">
      {report ? (
        <>
          <Top report={report} state={state} />
          <Middle report={report} state={state} />
        </>
      ) : (
        <section class="summary-top">
          <div>
            <h1>{error ? 'There is no report.' : '\u00a0'}</h1>
            <p class="sub">{error || 'Reading the trace for the report.'}</p>
          </div>
        </section>
      )}
      {!report && <div class="grow" />}
      <Bottom report={report} state={state} />
    </main>
  );
}
