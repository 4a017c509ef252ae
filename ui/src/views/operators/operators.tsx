// SPDX-License-Identifier: Apache-2.0
// Operators of a model, by type and by node: how long they take in one run, and where they ran.
import { useState } from 'preact/hooks';
import type { ReportModel } from '../../api/report.ts';
import type { Ops } from '../../api/types.ts';
import { count, duration, percent } from '../../base/format.ts';
import { deviceOf, HOST_TIME, plural, providerName, unbroken } from '../../base/words.ts';
import type { Order } from '../../base/sort.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { useAsk, useSetting, useSignal } from '../../widgets/hooks.ts';
import { Nothing, Segmented, Select, Share, StackBar } from '../../widgets/parts.tsx';
import { goToLocations, locationsOf, modelId } from '../../widgets/locations.ts';
import { CopyTable, VirtualTable, type Column } from '../../widgets/table.tsx';

type TypeRow = Ops['types'][number];
type NodeRow = Ops['nodes'][number];

/**
 * ran here ●, others of its type did ◐, none of its type did ○. Whether a provider could have run a node no runtime tells;
 * that it ran others of the same type is what a trace knows.
 */
export function placementMark(node: { type: string; provider: string | null }, provider: string, types: readonly Pick<TypeRow, 'type' | 'provider'>[]): { mark: string; words: string } {
  if (node.provider === provider) return { mark: '●', words: `ran on ${providerName(provider)}` };
  const others = types.find((row) => row.type === node.type)?.provider[provider] ?? 0;
  return others ? { mark: '◐', words: `not this one, but ${count(others)} other ${node.type} ran on ${providerName(provider)}: its types, shapes or attributes may be why` } : { mark: '○', words: `no ${node.type} ran on ${providerName(provider)}` };
}

const LEGEND = 'ran here ● · others of its type did ◐ · none of its type did ○';

const device = (provider: string | null) => `var(--dev-${provider ? deviceOf(provider) : 'copy'})`;

/** The provider that most nodes of a type ran on. */
const mostly = (row: TypeRow): string | null => Object.entries(row.provider).sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;

/** What devices spent, beside what the host did. */
const deviceColumn = <Row extends TypeRow | NodeRow>(ops: Ops): Column<Row> => ({ id: 'device', title: 'Device', number: true, unit: 'ns', width: '84px', from: ops.device_per_run_ns == null ? Infinity : 1, key: (row) => row.device_per_run_ns ?? 0, cell: (row) => duration(row.device_per_run_ns ?? 0) });

function typeColumns(ops: Ops): Column<TypeRow>[] {
  const most = Math.max(...ops.types.map((row) => row.per_run_ns), 1);
  return [
    { id: 'type', title: 'Type', width: 'minmax(120px, 240px)', key: (row) => row.type, cell: (row) => <b>{row.type}</b> },
    { id: 'count', title: 'Nodes', number: true, width: '64px', key: (row) => row.count, cell: (row) => count(row.count) },
    { id: 'time', title: 'Time a run', number: true, unit: 'ns', width: '84px', key: (row) => row.per_run_ns, cell: (row) => duration(row.per_run_ns) },
    deviceColumn(ops),
    { id: 'bar', title: '', width: 'minmax(80px, 360px)', from: 480, cell: (row) => <Share part={row.per_run_ns / most} color={device(mostly(row))} width="cell" /> },
    { id: 'share', title: 'Share', number: true, width: '64px', key: (row) => row.share, cell: (row) => percent(row.share) },
    { id: 'each', title: 'Each', number: true, unit: 'ns', width: '80px', from: 620, key: (row) => row.per_run_ns / Math.max(row.count, 1), cell: (row) => duration(row.per_run_ns / Math.max(row.count, 1)) },
    { id: 'where', title: 'Ran on', width: 'minmax(100px, 1fr)', from: 700, cell: (row) => Object.entries(row.provider).map(([name, n]) => `${providerName(name)} ${count(n)}`).join(', ') },
  ];
}

function nodeColumns(ops: Ops, providers: string[]): Column<NodeRow>[] {
  const most = Math.max(...ops.nodes.map((row) => row.per_run_ns), 1);
  return [
    { id: 'name', title: 'Node', width: 'minmax(120px, 2fr)', key: (row) => row.name, cell: (row) => <span title={row.name}>{row.name}</span> },
    { id: 'type', title: 'Type', width: 'minmax(80px, 1fr)', key: (row) => row.type, cell: (row) => row.type },
    { id: 'time', title: 'Time a run', number: true, unit: 'ns', width: '84px', key: (row) => row.per_run_ns, cell: (row) => duration(row.per_run_ns) },
    deviceColumn(ops),
    { id: 'bar', title: '', width: 'minmax(60px, 200px)', from: 620, cell: (row) => <Share part={row.per_run_ns / most} color={device(row.provider)} width="cell" /> },
    { id: 'share', title: 'Share', number: true, width: '64px', key: (row) => row.share, cell: (row) => percent(row.share) },
    ...providers.map((provider): Column<NodeRow> => ({
      id: provider,
      title: providerName(provider),
      width: 'minmax(56px, 90px)',
      from: 480,
      hint: LEGEND,
      key: (row) => placementMark(row, provider, ops.types).mark,
      cell: (row) => {
        const { mark, words } = placementMark(row, provider, ops.types);
        return (
          <span title={words} aria-label={words} style={{ color: mark === '●' ? device(provider) : 'var(--ink-3)' }}>
            {mark}
          </span>
        );
      },
    })),
  ];
}

function Table({ state, ops, model, search, asked }: { state: State; ops: Ops; model: number; search: string; asked: string[] }) {
  const [by, setBy] = useSetting<'type' | 'node'>(state, 'rows', 'type');
  const [order, setOrder] = useState<Order>({ column: 'time', down: true });
  const providers = [...new Set([...asked, ...ops.nodes.map((node) => node.provider)].filter((name): name is string => !!name))];
  const fits = (text: string) => text.toLowerCase().includes(search.toLowerCase());
  const say = (words: string) => state.say(words);
  const types = search ? ops.types.filter((row) => fits(row.type)) : ops.types;
  const nodes = search ? ops.nodes.filter((row) => fits(row.name) || fits(row.type)) : ops.nodes;
  const none = `Nothing has "${search}" in its name or type.`;
  const typed = typeColumns(ops);
  const noded = nodeColumns(ops, providers);
  return (
    <>
      <div class="ops-switch">
        <Segmented
          label="Rows"
          value={by}
          options={[
            ['type', `By type, ${ops.types.length}`],
            ['node', `By node, ${count(ops.nodes.length)}`],
          ]}
          onChange={setBy}
        />
        {by === 'node' && providers.length > 1 && <span class="faint">{LEGEND}</span>}
        <span class="faint">a row shows its first run on the timeline</span>
        {by === 'type' ? <CopyTable columns={typed} rows={types} order={order} say={say} /> : <CopyTable columns={noded} rows={nodes} order={order} say={say} />}
      </div>
      {by === 'type' ? (
        <VirtualTable
          label="Operators by type"
          rows={types}
          columns={typed}
          empty={none}
          order={order}
          onOrder={setOrder}
          onOpen={(row) => void goToLocations(state, locationsOf(state, (one) => one.kind === 'op' && one.model === model && one.function === row.type), row.type)}
        />
      ) : (
        <VirtualTable
          label="Operators by node"
          rows={nodes}
          columns={noded}
          empty={none}
          order={order}
          onOrder={setOrder}
          onOpen={(row) => void goToLocations(state, row.location !== undefined ? [row.location] : locationsOf(state, (one) => one.kind === 'op' && one.model === model && one.name === row.name), row.name)}
        />
      )}
    </>
  );
}

const PARTS = 12;
const FINE_US = 20; // an operator that is shorter costs more to record than it takes

/** What to keep in mind when reading the times. */
function caveats(model: ReportModel, ops: Ops): string {
  const cost = model.functions.reduce((most, one) => Math.max(most, one.events.inference.perturbed.cost ?? 0), 0);
  const median = model.profiling.median_us;
  const assigned = Object.values(model.placement.nodes).reduce((sum, n) => sum + n, 0);
  const out: string[] = [];
  if (ops.host_time) out.push(`These times are ${HOST_TIME}.`);
  else if (ops.device_per_run_ns != null) out.push(`Time a run is host time.`);
  if (cost >= 0.05) out.push(`Recording operators made these inferences ${(cost * 100).toFixed(0)}\u2009% longer${median !== null && median < FINE_US ? `; half of the operators take less than ${duration(median * 1e3)}, so take their shares with care` : ''}.`);
  if (assigned && ops.node_count > assigned) out.push(`${count(ops.node_count)} nodes ran, ${count(assigned)} were in the graph when it was partitioned among the providers; later optimizations changed the graph.`);
  return unbroken(out.join(' '));
}

export function Operators({ state }: { state: State }) {
  const models = state.meta.models;
  const chosen = useSignal(state.model);
  const model = chosen ?? models[0]?.id ?? -1;
  const [search, setSearch] = useSetting<string>(state, 'node', '');
  const { value: report } = useAsk(() => reportOf(state.source), [state]);
  const told = report?.models.find((one) => modelId(state, one) === model);
  const { value: ops, error, busy } = useAsk(() => (model >= 0 ? state.source.ops(model) : Promise.resolve(null)), [model]);
  const all = ops?.types.reduce((sum, row) => sum + row.per_run_ns, 0) ?? 0;
  const parts = [...(ops?.types ?? [])].sort((a, b) => b.per_run_ns - a.per_run_ns);
  return (
    <main class="column-page">
      <div class="page-tool">
        {models.length > 0 && <Select label="Model" value={model} options={models.map((one) => [one.id, one.name] as const)} onChange={(id) => state.model.set(id)} />}
        <input class="field" type="search" placeholder="Search types and nodes" aria-label="Search types and nodes" value={search} onInput={(event) => setSearch((event.target as HTMLInputElement).value)} />
        <span class="faint">{ops?.types.length ? `${duration(all)} a run · mean of ${count(ops.runs)} ${plural(ops.runs, 'run')} with operators` : ''}</span>
      </div>
      {error && <Nothing title="The operators cannot be shown.">{error}</Nothing>}
      {!error && !busy && !ops?.types.length && (
        <Nothing title="No operators were recorded." command="inferogram record --ops -- CMD" say={(words) => state.say(words)}>
          {models.length ? 'Recording operators slows down every Nth inference, so it is off by default.' : 'No model was recorded, so there are no operators.'}
        </Nothing>
      )}
      {ops && ops.types.length > 0 && (
        <>
          <div class="ops-bar">
            <StackBar height={26} parts={parts.slice(0, PARTS).map((row, i) => ({ name: `${row.type} ${percent(row.share)}`, value: row.per_run_ns, color: `var(--zone-${(i % 5) + 1})`, ink: 'var(--zone-ink)', text: row.type })).concat(parts.length > PARTS ? [{ name: 'other', value: parts.slice(PARTS).reduce((sum, row) => sum + row.per_run_ns, 0), color: 'var(--res-fill)', ink: 'var(--ink-2)', text: '' }] : [])} />
          </div>
          {told && caveats(told, ops) && <p class="page-note">{caveats(told, ops)}</p>}
          <Table state={state} ops={ops} model={model} search={search} asked={told?.placement.requested.map(providerName) ?? []} />
        </>
      )}
    </main>
  );
}
