// SPDX-License-Identifier: Apache-2.0
// Everything that was recorded, grouped and in figures: events that programs told of, or samples that were taken of them.
import { useEffect, useState } from 'preact/hooks';
import type { SampledRow, StatsRow } from '../../api/types.ts';
import { count, duration, percent } from '../../base/format.ts';
import { categoryName, HOST_TIME, plural, shortName } from '../../base/words.ts';
import type { Order } from '../../base/sort.ts';
import type { State } from '../../data/state.ts';
import { FilterFields, useFilter } from '../../widgets/filter.tsx';
import { useAsk, useSetting } from '../../widgets/hooks.ts';
import { Nothing, Segmented, Select, Share, Swatch } from '../../widgets/parts.tsx';
import { goToLocations, locationsOf } from '../../widgets/locations.ts';
import { CopyTable, VirtualTable, type Column } from '../../widgets/table.tsx';

const GROUPS = [
  ['zone', 'name'],
  ['category', 'category'],
  ['model', 'model'],
  ['op', 'operator'],
  ['thread', 'thread'],
  ['kernel', 'kernel'],
] as const;

/** The model has a column of its own. */
function rowName(row: StatsRow): string {
  if (row.category && row.name === row.category) return categoryName(row.name);
  return row.model && row.name.startsWith(`${row.model} · `) ? row.name.slice(row.model.length + 3) : row.name;
}

function eventColumns(rows: readonly StatsRow[], by: string): Column<StatsRow>[] {
  const most = rows.reduce((high, row) => Math.max(high, row.total_ns), 1);
  const time = (id: string, title: string, get: (row: StatsRow) => number | null, from?: number): Column<StatsRow> => ({
    id,
    title,
    number: true,
    unit: 'ns',
    width: '76px',
    ...(from ? { from } : {}),
    key: get,
    cell: (row) => (get(row) === null ? <span class="faint">–</span> : duration(get(row)!)),
  });
  return [
    {
      id: 'name',
      title: 'Name',
      width: 'minmax(140px, 2fr)',
      key: (row) => row.name,
      cell: (row) => (
        <span title={row.name}>
          {row.category && by !== 'model' ? <Swatch of={row.category} /> : null} {rowName(row)}
          {row.model && by !== 'model' ? <span class="faint model-in-name"> {row.model}</span> : null}
          {row.unfinished ? <span class="chip bad">{row.unfinished} open</span> : null}
        </span>
      ),
    },
    { id: 'model', title: 'Model', width: 'minmax(80px, 1fr)', from: rows.some((row) => row.model) && by !== 'model' ? 1000 : Infinity, key: (row) => row.model, cell: (row) => <span class="sub">{row.model}</span> },
    { id: 'count', title: 'Count', number: true, width: '72px', key: (row) => row.count, cell: (row) => count(row.count) },
    time('total', 'Total', (row) => row.total_ns),
    { id: 'bar', title: '', width: '80px', from: 900, cell: (row) => <Share part={row.total_ns / most} color="var(--st-running)" width="cell" /> },
    { id: 'share', title: 'Share', number: true, width: '64px', from: 640, key: (row) => row.share, cell: (row) => percent(row.share) },
    time('device', 'Device', (row) => row.device_ns ?? null, by === 'op' && rows.some((row) => row.device_ns != null) ? 1 : Infinity),
    time('self', 'Self', (row) => row.self_ns, 840),
    time('mean', 'Mean', (row) => row.mean_ns, 980),
    time('min', 'Min', (row) => row.min_ns, 1060),
    time('p50', 'Median', (row) => row.p50_ns),
    time('p90', 'p90', (row) => row.p90_ns, 820),
    time('p99', 'p99', (row) => row.p99_ns, 700),
    time('max', 'Max', (row) => row.max_ns, 560),
  ];
}

function sampleColumns(rows: readonly SampledRow[], samples: number): Column<SampledRow>[] {
  const most = rows.reduce((high, row) => Math.max(high, row.self), 1);
  return [
    {
      id: 'name',
      title: 'Function',
      width: 'minmax(160px, 3fr)',
      key: (row) => row.name,
      cell: (row) => (
        <span class="mono" title={row.name}>
          {shortName(row.name)}
          {row.guessed ? <span title="its start is a guess: the module has no symbols"> ?</span> : ''}
          {row.under ? <span class="faint"> under {shortName(row.under)}</span> : null}
        </span>
      ),
    },
    { id: 'where', title: 'Where', hint: 'the line with most samples, or the module', width: 'minmax(80px, 1fr)', from: 760, key: (row) => row.file || row.module, cell: (row) => <span class="sub" title={row.file || row.module}>{row.file ? `${row.file.split('/').pop()}:${row.line}` : row.module}</span> },
    { id: 'self', title: 'Self', number: true, width: '72px', key: (row) => row.self, cell: (row) => <b>{percent(row.self / samples)}</b> },
    { id: 'bar', title: '', width: '110px', from: 560, cell: (row) => <Share part={row.self / most} color="rgba(var(--heat), .75)" width="cell" /> },
    { id: 'total', title: 'Total', number: true, width: '72px', key: (row) => row.total, cell: (row) => percent(row.total / samples) },
    { id: 'samples', title: 'Samples', number: true, width: '72px', from: 640, key: (row) => row.self, cell: (row) => count(row.self) },
  ];
}

/** The locations that a row stands for. */
function locationsOfRow(state: State, row: StatsRow, by: string): number[] {
  if (row.location >= 0 && /zone|op|kernel/.test(by)) return [row.location];
  const models = new Map(state.meta.models.map((model) => [model.id, model.name]));
  return locationsOf(state, (one) => {
    if (by === 'model') return one.category !== '' && models.get(one.model) === row.name;
    if (by === 'category') return one.category === (row.category || row.name);
    if (by === 'op') return one.kind === 'op' && one.function === row.name;
    return one.name === row.name;
  });
}

function Events({ state, by, search }: { state: State; by: string; search: string }) {
  const { filter, key } = useFilter(state);
  const asked = useAsk(() => state.source.stats(by, { ...filter, ...(search ? { q: search } : {}) }), [by, search, key]);
  const [order, setOrder] = useState<Order>({ column: 'total', down: true });
  if (asked.error) return <Nothing title="There are no statistics.">{asked.error}</Nothing>;
  const rows = asked.value?.rows ?? [];
  const more = (asked.value?.row_count ?? 0) - rows.length;
  const open = (row: StatsRow) => {
    const thread = by === 'thread' ? state.meta.tracks.find((track) => track.kind === 'thread' && row.name.includes(track.label)) : undefined;
    if (thread) state.page.set('timeline');
    else void goToLocations(state, locationsOfRow(state, row, by), state.meta.locations[locationsOfRow(state, row, by)[0] ?? -1]?.name ?? row.name);
  };
  const columns = eventColumns(rows, by);
  return (
    <>
      <p class="page-note">
        {more > 0 && `The ${count(rows.length)} with most time, of ${count(rows.length + more)}: search to see others. `}
        {asked.value && `Share of ${duration(asked.value.range_ns ?? state.length)} · self: without what lies inside${state.meta.has.ops ? ' · inferences whose operators were recorded count here, the summary leaves them out' : ''}${rows.some((row) => row.host_time) ? ` · operators of ${[...new Set(rows.filter((row) => row.host_time).map((row) => row.model))].join(', ')}: ${HOST_TIME}` : ''}`} <CopyTable columns={columns} rows={rows} order={order} say={(words) => state.say(words)} />
      </p>
      <VirtualTable
        label="Statistics of events"
        rows={rows}
        columns={columns}
        order={order}
        onOrder={setOrder}
        onOpen={open}
        empty={asked.busy ? '' : search || Object.keys(filter).length ? <Unfitting state={state} search={search} /> : <NoEvents state={state} />}
      />
    </>
  );
}

function Unfitting({ state, search }: { state: State; search: string }) {
  return (
    <>
      Nothing here has all that was chosen{search ? ` and "${search}" in its name` : ''}.{' '}
      <button
        class="link"
        onClick={() => {
          state.model.set(null);
          state.range.set(null);
          state.set('find', '');
        }}
      >
        Show everything
      </button>
    </>
  );
}

function NoEvents({ state }: { state: State }) {
  return (
    <>
      No event was recorded: the program loaded no runtime that can be watched, or not while it was recorded, and told of no zones.{' '}
      {state.meta.has.samples && (
        <button class="link" onClick={() => state.set('stats', 'sampling')}>
          There are samples
        </button>
      )}
    </>
  );
}

function Samples({ state, search }: { state: State; search: string }) {
  const { filter, key } = useFilter(state);
  const asked = useAsk(() => state.source.sampledStats({ ...filter, ...(search ? { q: search } : {}) }), [search, key]);
  const [order, setOrder] = useState<Order>({ column: 'self', down: true });
  if (asked.error) return <Nothing title="There are no statistics of samples.">{asked.error}</Nothing>;
  const rows = asked.value?.rows ?? [];
  const samples = Math.max(asked.value?.samples ?? 0, 1);
  const columns = sampleColumns(rows, samples);
  return (
    <>
      {asked.value && (
        <p class="page-note">
          {count(asked.value.samples)} {plural(asked.value.samples, 'sample')}
          {asked.value.hz ? ` at ${count(asked.value.hz)} Hz` : ''}
          {asked.value.rooted !== undefined && asked.value.samples ? ` · ${percent(asked.value.rooted / asked.value.samples)} reach the thread's root` : ''}
          {asked.value.lost ? ` · ${count(asked.value.lost)} lost` : ''} · self: in the function itself · total: including callees <CopyTable columns={columns} rows={rows} order={order} say={(words) => state.say(words)} />
        </p>
      )}
      <VirtualTable label="Statistics of samples" rows={rows} columns={columns} order={order} onOrder={setOrder} onOpen={(row) => state.openSource(row.function)} empty={asked.busy ? '' : <Unfitting state={state} search={search} />} />
    </>
  );
}

const PAUSE_MS = 150;

export function Statistics({ state }: { state: State }) {
  const [mode, setMode] = useSetting<'instrumentation' | 'sampling'>(state, 'stats', 'instrumentation');
  const [by, setBy] = useSetting<string>(state, 'group', 'zone');
  const [search, setSearch] = useSetting<string>(state, 'find', '');
  const [text, setText] = useState(search);
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => setText(search), [search]);
  return (
    <main class="column-page">
      <div class="page-tool">
        <Segmented
          label="Filter"
          value={mode}
          options={[
            ['instrumentation', 'Instrumentation'],
            ['sampling', 'Sampling'],
          ]}
          onChange={setMode}
        />
        {mode === 'instrumentation' && <Select label="Group by" value={by} options={state.meta.has.device ? GROUPS : GROUPS.slice(0, -1)} onChange={setBy} />}
        <FilterFields state={state} />
        <input class="field" type="search" placeholder="Search names" aria-label="Search names" value={text} onInput={(event) => setText((event.target as HTMLInputElement).value)} />
        <span class="grow" />
        <span class="faint">{mode === 'sampling' ? 'a row opens its source' : 'a row shows its first event on the timeline'}</span>
      </div>
      {mode === 'sampling' && !state.meta.has.samples ? (
        <Nothing title="No samples were taken." command="inferogram record --sample -- CMD" say={(words) => state.say(words)}>
          {state.meta.instruments.find((one) => one.name === 'samples')?.reason || 'Sampling was off.'}
        </Nothing>
      ) : mode === 'sampling' ? (
        <Samples state={state} search={search} />
      ) : (
        <Events state={state} by={by} search={search} />
      )}
    </main>
  );
}
