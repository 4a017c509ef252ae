// SPDX-License-Identifier: Apache-2.0
// Where the time went, by call stacks: of the trace, a model, an operator, a thread or the measured range.
import { useMemo, useState } from 'preact/hooks';
import { count, duration, percent } from '../../base/format.ts';
import { plural, shortName } from '../../base/words.ts';
import type { FlameMode } from '../../api/types.ts';
import type { State } from '../../data/state.ts';
import { FilterFields, useFilter } from '../../widgets/filter.tsx';
import { FlameGraph } from '../../widgets/flamegraph.tsx';
import { useAsk, useSetting, useSignal } from '../../widgets/hooks.ts';
import { NoSamples } from '../../widgets/nosamples.tsx';
import { Nothing, Segmented, Select } from '../../widgets/parts.tsx';

/** Operators (nodes) of what is chosen. */
function operatorNames(state: State, model: number | null): string[] {
  const names = new Set<string>();
  for (const one of state.meta.locations) if (one.kind === 'op' && (model === null || one.model === model)) names.add(one.name);
  return [...names].sort();
}

/** A name out of many: written, with what fits below it. Only a name that exists counts. */
function OperatorField({ names, chosen, choose }: { names: string[]; chosen: string; choose: (name: string) => void }) {
  const known = useMemo(() => new Set(names), [names]);
  return (
    <label class="select">
      <span class="sub">Operator</span>
      <input
        class="field"
        type="search"
        list="operators"
        placeholder="any"
        defaultValue={chosen}
        onInput={(event) => {
          const text = (event.target as HTMLInputElement).value.trim();
          if (!text || known.has(text)) choose(text);
        }}
      />
      <datalist id="operators">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

export function Flame({ state }: { state: State }) {
  const { samples, device } = state.meta.has;
  const model = useSignal(state.model);
  const { filter, key } = useFilter(state);
  const [mode, setMode] = useSetting<FlameMode>(state, 'order', samples ? 'merged' : 'device');
  const [thread, setThread] = useSetting<string>(state, 'thread', '');
  const [op, setOp] = useSetting<string>(state, 'op', '');
  const [search, setSearch] = useSetting<string>(state, 'functions', '');
  const [chosen, choose] = useState<{ functionId: number; name: string } | null>(null);
  const threads = state.meta.tracks.filter((track) => track.kind === 'thread' && track.samples > 0);
  const names = useMemo(() => (state.meta.has.ops ? operatorNames(state, model) : []), [model]);
  const asked = useAsk(() => (samples || device ? state.source.flame({ ...filter, ...(thread ? { thread } : {}), ...(op ? { op } : {}) }, mode) : Promise.resolve(null)), [key, mode, thread, op]);
  const flame = asked.value;

  if (!samples && !device)
    return (
      <main>
        <NoSamples state={state} />
      </main>
    );
  const found = search && flame ? flame.nodes.filter((node) => node.n.toLowerCase().includes(search.toLowerCase())).reduce((sum, node) => sum + node.s, 0) : 0;
  return (
    <main class="column-page">
      <div class="page-tool">
        <Segmented
          label="Order"
          value={mode}
          options={[
            ...(samples ? ([['merged', 'Left heavy'], ['time', 'By time']] as const) : []),
            ...(device ? ([['device', 'Kernels']] as const) : []),
          ]}
          onChange={setMode}
        />
        <FilterFields state={state} />
        {names.length > 0 && <OperatorField names={names} chosen={op} choose={setOp} />}
        {threads.length > 1 && <Select label="Thread" value={thread} options={[['', 'all'] as const, ...threads.map((track) => [track.id, `${track.label} (${track.samples})`] as const)]} onChange={setThread} />}
        <input class="field" type="search" placeholder="Search functions" aria-label="Search functions" value={search} onInput={(event) => setSearch((event.target as HTMLInputElement).value)} />
        <span class="faint">
          {flame ? (flame.device ? duration(flame.samples) : `${count(flame.samples)} ${plural(flame.samples, 'sample')}`) : ''}
          {search && flame ? ` · ${percent(found / Math.max(flame.samples, 1))} self time in matches` : ''}
        </span>
        <span class="grow" />
        {chosen ? (
          <button class="button small" onClick={() => state.openSource(chosen.functionId)} title="Source and machine code (Shift + Enter)">
            Source of {shortName(chosen.name).slice(0, 40)}
          </button>
        ) : (
          <span class="faint">{flame?.device ? 'width = device time' : 'width = samples, click to zoom, double click for the source'}{flame?.nodes.some((node) => node.i > 0) ? ' · dashed: uncertain caller' : ''}</span>
        )}
      </div>
      {asked.error && <Nothing title="The samples cannot be shown.">{asked.error}</Nothing>}
      {flame && flame.samples === 0 && (
        <Nothing title="The selection contains no samples.">
          Choose another model, operator, thread or range, or{' '}
          <button class="link" onClick={() => (state.model.set(null), state.range.set(null), setThread(''), setOp(''))}>
            show all samples
          </button>
          .
        </Nothing>
      )}
      {flame && flame.samples > 0 && <FlameGraph flame={flame} search={search} functionId={chosen?.functionId ?? null} onChoose={(functionId, name) => choose({ functionId, name })} onOpen={(functionId) => state.openSource(functionId)} label="Flame graph of samples" />}
    </main>
  );
}
