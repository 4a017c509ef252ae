// SPDX-License-Identifier: Apache-2.0
// The first page: how fast it is, what is wrong, where the models ran, which option fixes it; below, what was and was not recorded.
import { useMemo, useState } from 'preact/hooks';
import type { Report, ReportModel } from '../../api/report.ts';
import type { Points } from '../../api/types.ts';
import { count, duration, percent } from '../../base/format.ts';
import { sorted } from '../../base/sort.ts';
import { deviceOf, plural, providerName, shortName, unbroken } from '../../base/words.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { leftOut, sentence, subline } from '../../data/summary.ts';
import { dotAt, dotScale, drawDots, type DotFrame, type FirstRun } from '../../draw/dots.ts';
import { Chart, Tip, TwinTable } from '../../widgets/canvas.tsx';
import { Energy } from '../../widgets/energy.tsx';
import { Findings } from '../../widgets/findings.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { ModelTable, PlacementBar } from '../../widgets/modeltable.tsx';
import { Head, Nothing, Share } from '../../widgets/parts.tsx';
import { goToLocations, locationsOf, modelId, openCategory } from '../../widgets/locations.ts';
import { Operators, Start } from '../../widgets/timebars.tsx';
import { Bottom } from './bottom.tsx';

function Top({ report, state }: { report: Report; state: State }) {
  const asked = [...new Set(report.models.flatMap((model) => model.placement.requested.map(providerName)))];
  const devices = [...new Set(report.models.flatMap((model) => Object.keys(model.placement.nodes).map(deviceOf)))];
  return (
    <section class="summary-top">
      <div>
        <h1>{unbroken(sentence(report))}</h1>
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

const DOTS_HEIGHT = 148;
const THINNED = 3000; // more are not sent one by one

function Dots({ state, model, points, first }: { state: State; model: ReportModel; points: Points; first: FirstRun | null }) {
  const [chosen, choose] = useState(-1);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const [width, setWidth] = useState(500);
  const runs = model.functions.reduce((n, one) => n + one.events.inference.count + one.events.inference.perturbed.count, 0);
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
        {model.name} · {chosen >= 0 && !at ? `${duration(points.duration[chosen]!)} at ${duration(points.start[chosen]!)}, Enter shows it` : points.count >= THINNED ? `the shortest and longest of every ${Math.ceil(runs / (points.count / 2))}` : 'each dot one inference'}
      </Head>
      <Chart
        height={DOTS_HEIGHT}
        class="clickable"
        label={`Inference times of ${model.name} over the run. Arrow keys walk through them, Enter shows one on the timeline.`}
        focusable
        keys={[points, first, chosen, width]}
        onSize={(w) => setWidth(w)}
        draw={(context, w, h, palette) => drawDots(context, points, { ...frame, width: w, height: h }, first, chosen, palette)}
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

const TOP_ROWS = 12;

/** Without models: what took the time, by samples, else by zones. */
function WhatTookTime({ state }: { state: State }) {
  const sampled = state.meta.has.samples;
  const asked = useAsk(async (): Promise<{ name: string; value: string; part: number; open: () => void }[]> => {
    if (sampled) {
      const stats = await state.source.sampledStats({});
      return stats.rows.slice(0, TOP_ROWS).map((row) => ({ name: shortName(row.name), value: percent(row.self / Math.max(stats.samples, 1)), part: row.self / Math.max(stats.rows[0]!.self, 1), open: () => state.openSource(row.function) }));
    }
    const stats = await state.source.stats('zone', {});
    const own = sorted(stats.rows, (row) => row.self_ns, true);
    return own.slice(0, TOP_ROWS).map((row) => ({ name: row.name, value: duration(row.self_ns), part: row.self_ns / Math.max(own[0]!.self_ns, 1), open: () => void goToLocations(state, [row.location], row.name) }));
  }, [state]);
  if (!asked.value?.length) return null;
  return (
    <>
      <Head title="Where the time went">{sampled ? 'share of the samples, itself' : 'time of its own'}</Head>
      <table class="tight">
        <tbody>
          {asked.value.map((row) => (
            <tr key={row.name} class="opens" onClick={row.open}>
              <td class="cut mono">
                <button class="plain" onClick={(event) => (event.stopPropagation(), row.open())}>
                  {row.name}
                </button>
              </td>
              <td class="bar-cell">
                <Share part={row.part} color={sampled ? 'rgba(var(--heat), .75)' : 'var(--st-running)'} width={160} />
              </td>
              <td class="num">{row.value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function NoModels({ report, state }: { report: Report; state: State }) {
  return (
    <Nothing title="No model was recorded." say={(words) => state.say(words)} command="inferogram record --next">
      {state.meta.runtimes.length ? `${state.meta.runtimes.join(', ')} was present, but loaded no model during the recording.` : 'The program loaded no supported runtime.'}{' '}
      {state.meta.zones || state.meta.has.samples ? `There are ${[state.meta.zones ? `${count(state.meta.zones)} ${plural(state.meta.zones, 'zone')}` : '', state.meta.has.samples ? 'samples' : ''].filter(Boolean).join(' and ')} in these ${duration(report.duration_s * 1e9)}: ` : ''}
      <button class="link" onClick={() => state.page.set('timeline')}>
        open the timeline
      </button>{' '}
      or{' '}
      <button class="link" onClick={() => (state.set('stats', state.meta.zones ? '' : 'sampling'), state.page.set('statistics'))}>
        the statistics
      </button>
      . A model in another process? This waits for the next one that loads any:
    </Nothing>
  );
}

function Middle({ report, state }: { report: Report; state: State }) {
  const main = report.models[0];
  const id = main ? modelId(state, main) : -1;
  const runs = useAsk(() => (id >= 0 ? state.source.runs(id) : Promise.resolve(null)), [id]);
  const first = useAsk(async (): Promise<FirstRun | null> => {
    const locations = locationsOf(state, (one) => one.category === 'inference' && one.model === id);
    const found = locations.length ? await state.source.next(locations, -1, 1) : null;
    return found && found.id !== null ? state.source.slice(found.id) : null;
  }, [id]);
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
            <ModelTable report={report} models={report.models.slice(0, 6)} open={openCategory(state)} title={(model) => (state.model.set(modelId(state, model)), state.page.set('models'))} />
            <Energy report={report} />
            <Start report={report} first={first.value} />
            <div class="summary-two">
              {runs.value && runs.value.count > 1 && <Dots state={state} model={main} points={runs.value} first={first.value} />}
              <Operators state={state} model={main} />
            </div>
          </>
        ) : (
          <>
            <NoModels report={report} state={state} />
            <WhatTookTime state={state} />
          </>
        )}
      </div>
      <div class="summary-right">
        <Findings report={report} state={state} />
      </div>
    </div>
  );
}

export function Summary({ state }: { state: State }) {
  const { value: report, error } = useAsk(() => reportOf(state.source), [state]);
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
