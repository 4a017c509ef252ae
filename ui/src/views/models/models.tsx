// SPDX-License-Identifier: Apache-2.0
// Each model by itself: its figures, what it is, where it ran, its loads, and how long its inferences waited for a CPU.
import { useEffect, useState } from 'preact/hooks';
import type { Report, ReportModel } from '../../api/report.ts';
import type { SliceDetails, SwitchRow } from '../../api/types.ts';
import { bytes, count, duration, moment, percent } from '../../base/format.ts';
import { plural, providerName } from '../../base/words.ts';
import type { Order } from '../../base/sort.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { useAsk, useSignal } from '../../widgets/hooks.ts';
import { ModelTable, PlacementBar } from '../../widgets/modeltable.tsx';
import { Head, Nothing, StackBar, StateKeys } from '../../widgets/parts.tsx';
import { VirtualTable, type Column } from '../../widgets/table.tsx';
import { locationsOf, modelId, openCategory } from '../../widgets/locations.ts';

function Properties({ model }: { model: ReportModel }) {
  const rows: [string, string][] = [
    ['File', model.path],
    ['Name inferred from', model.inferred],
    ['Size', model.file_bytes ? bytes(model.file_bytes) : ''],
    ['Content', model.content_id],
    ['Runtime', model.runtime],
    ['Process', model.pid ? `pid ${model.pid}` : ''],
    ['Asked for', model.placement.requested.map(providerName).join(', ')],
    ['Policy', model.placement.policy],
    ['Known from', model.placement.source],
    ['Options', model.options],
    ['Loads', Object.entries(model.loads).filter(([, n]) => n > 0).map(([kind, n]) => `${n} ${kind}`).join(', ')],
    ['Operators', model.profiling.inferences ? `recorded in ${count(model.profiling.inferences)} ${plural(model.profiling.inferences, 'inference')}` : 'not recorded'],
    ['Device', model.device?.text ?? ''],
    ['Device idle', model.device?.idle_text ?? ''],
  ];
  return (
    <dl class="kv">
      {rows
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd class={name === 'Options' || name === 'File' ? 'mono' : ''}>{value}</dd>
          </>
        ))}
    </dl>
  );
}

const LOADS = 12;

/** The model's loads, one after the other, as the timeline has them. */
function useLoads(state: State, id: number): SliceDetails[] {
  const [loads, set] = useState<SliceDetails[]>([]);
  useEffect(() => {
    let stopped = false;
    const locations = locationsOf(state, (one) => one.category === 'load' && one.model === id);
    const collect = async () => {
      const out: SliceDetails[] = [];
      let from = -1;
      while (locations.length && out.length < LOADS) {
        const next = await state.source.next(locations, from, 1);
        if (next.id === null || stopped) break;
        const slice = await state.source.slice(next.id);
        if (out.some((one) => one.id === slice.id)) break;
        out.push(slice);
        from = slice.start;
      }
      if (!stopped) set(out);
    };
    collect().catch(() => undefined);
    return () => {
      stopped = true;
    };
  }, [id]);
  return loads;
}

function Loads({ state, id }: { state: State; id: number }) {
  const loads = useLoads(state, id);
  if (!loads.length) return null;
  const argument = (slice: SliceDetails, key: string) => slice.args.find((one) => one.key === key)?.value ?? '';
  return (
    <>
      <Head title="Loads">{loads.length === LOADS ? `the first ${LOADS}` : ''}</Head>
      <table class="tight">
        <thead>
          <tr>
            <th>At</th>
            <th class="num">Took</th>
            <th class="num">Session</th>
            <th>Specialization</th>
            <th>Thread</th>
          </tr>
        </thead>
        <tbody>
          {loads.map((slice) => (
            <tr key={slice.id} class="opens" onClick={() => void state.goToSlice(slice.id)}>
              <td>
                <button class="plain" onClick={(event) => (event.stopPropagation(), void state.goToSlice(slice.id))}>
                  {moment(slice.start, 1e5)}
                </button>
              </td>
              <td class="num">{duration(slice.duration)}</td>
              <td class="num">{argument(slice, 'session')}</td>
              <td title={String(argument(slice, 'why'))}>{argument(slice, 'specialization')}</td>
              <td>{slice.thread.name}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Switches({ state, model, id }: { state: State; model: ReportModel; id: number }) {
  const asked = useAsk(() => (state.meta.has.states ? state.source.switches(id) : Promise.resolve([])), [id]);
  const [order, setOrder] = useState<Order>({ column: 'runnable', down: true });
  if (!state.meta.has.states)
    return (
      <Nothing title="It is unknown how long inferences waited for a CPU." command="inferogram record --sched -- CMD" say={(words) => state.say(words)}>
        Context switches were not recorded.
      </Nothing>
    );
  const waiting = model.waiting;
  const columns: Column<SwitchRow>[] = [
    { id: 'start', title: 'At', number: true, width: '90px', key: (row) => row.start, cell: (row) => moment(row.start, 1e5) },
    { id: 'duration', title: 'Took', number: true, width: '80px', key: (row) => row.duration, cell: (row) => duration(row.duration) },
    { id: 'running', title: 'Running', number: true, width: '80px', key: (row) => row.running_ns, cell: (row) => duration(row.running_ns) },
    { id: 'runnable', title: 'Waiting for a CPU', number: true, width: '116px', key: (row) => row.runnable_ns, cell: (row) => <b>{duration(row.runnable_ns)}</b> },
    { id: 'blocked', title: 'Blocked', number: true, width: '80px', key: (row) => row.blocked_ns, cell: (row) => duration(row.blocked_ns) },
    {
      id: 'split',
      title: 'Split',
      width: 'minmax(60px, 1fr)',
      from: 560,
      cell: (row) => (
        <StackBar
          height={8}
          parts={[
            { name: 'running', value: row.running_ns, color: 'var(--st-running)' },
            { name: 'waiting', value: row.runnable_ns, color: 'var(--st-runnable)' },
            { name: 'blocked', value: row.blocked_ns, color: 'var(--st-blocked)' },
          ].filter((part) => part.value > 0)}
        />
      ),
    },
  ];
  return (
    <>
      <Head title="Waiting for a CPU">
        {waiting ? `${duration(waiting.run_queue_ms * 1e6)} of ${duration(waiting.mean_ms * 1e6)} per inference, ${percent(waiting.run_queue_share)}` : ''}
        {asked.value && asked.value.length > 0 ? `${waiting ? ' · ' : ''}the ${count(asked.value.length)} that waited longest` : ''}
      </Head>
      {asked.error && <p class="sub">{asked.error}</p>}
      {asked.value && asked.value.length > 0 && <StateKeys />}
      {asked.value && asked.value.length === 0 && <p class="sub">{waiting ? 'No inference waited.' : 'No inference ran on a thread with recorded context switches.'}</p>}
      {asked.value && asked.value.length > 0 && (
        <div class="model-switches" style={{ height: `${Math.min(300, 34 + 24 * asked.value.length)}px` }}>
          <VirtualTable label="Inferences that waited longest for a CPU" rows={asked.value} columns={columns} order={order} onOrder={setOrder} onOpen={(row) => void state.goToSlice(row.slice)} />
        </div>
      )}
    </>
  );
}

function One({ report, model, state }: { report: Report; model: ReportModel; state: State }) {
  const id = modelId(state, model);
  const chosen = useSignal(state.model);
  return (
    <article class="model">
      <header>
        <h1 title={model.path}>{model.name}</h1>
        <span class="placement-line">
          <PlacementBar model={model} />
        </span>
        <span class="grow" />
        <button class="button small" aria-pressed={chosen === id} onClick={() => state.model.set(chosen === id ? null : id)}>
          {chosen === id ? 'All models' : 'Only this model'}
        </button>
        <button class="button small" onClick={() => (state.model.set(id), state.page.set('flame'))}>
          Flame
        </button>
        <button class="button small" onClick={() => (state.model.set(id), state.page.set('operators'))}>
          Operators
        </button>
      </header>
      <div class="model-body">
        <div>
          <ModelTable report={report} models={[model]} open={openCategory(state)} />
          <Switches state={state} model={model} id={id} />
        </div>
        <div>
          <Head title="Properties" />
          <Properties model={model} />
          <Loads state={state} id={id} />
        </div>
      </div>
    </article>
  );
}

export function Models({ state }: { state: State }) {
  const { value: report, error } = useAsk(() => reportOf(state.source), [state]);
  const chosen = useSignal(state.model);
  const models = report?.models.filter((model) => chosen === null || modelId(state, model) === chosen) ?? [];
  return (
    <main class="models-page">
      {error && <Nothing title="The models cannot be shown.">{error}</Nothing>}
      {report && !report.models.length && (
        <Nothing title="No model was recorded." command="inferogram doctor" say={(words) => state.say(words)}>
          {state.meta.runtimes.length ? `${state.meta.runtimes.join(', ')} was present, but loaded no model during the recording.` : 'The program loaded no supported runtime.'} What can be watched here, doctor tells:
        </Nothing>
      )}
      {chosen !== null && report && report.models.length > 1 && (
        <div class="page-tool">
          <button class="button small" onClick={() => state.model.set(null)}>
            Show all {report.models.length} models
          </button>
        </div>
      )}
      {report && models.map((model, i) => <One key={model.name + i} report={report} model={model} state={state} />)}
    </main>
  );
}
