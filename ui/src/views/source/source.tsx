// SPDX-License-Identifier: Apache-2.0
// Samples down to the line and the instruction: flame graph and functions, source, disassembly; what belongs together is lit on both sides.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Annotated, SampledRow, SampledStats } from '../../api/types.ts';
import { count, percent } from '../../base/format.ts';
import { plural, shortName } from '../../base/words.ts';
import { isTyping } from '../../base/typing.ts';
import type { State } from '../../data/state.ts';
import { FilterFields, useFilter } from '../../widgets/filter.tsx';
import { FlameGraph } from '../../widgets/flamegraph.tsx';
import { useAsk, useSetting, useSignal } from '../../widgets/hooks.ts';
import { NoSamples } from '../../widgets/nosamples.tsx';
import { Nothing, Segmented, Share } from '../../widgets/parts.tsx';
import { Code, SourceText } from './code.tsx';
import { firstShown, hasSource, hotAddresses, hotLines, sameAt, stepHot, type At } from './lines.ts';

export type Of = 'function' | 'trace';

const FUNCTIONS = 40;

/** A function without a name is shown by its address and the end of a caller's name: the column is narrow. */
function rowLabel(row: SampledRow): string {
  const guess = row.guessed ? ' ?' : '';
  if (!row.under) return shortName(row.name) + guess;
  return `${row.name.replace(/^.*(?=\+0x)/, '')}${guess} under ${shortName(row.under).split('::').slice(-2).join('::')}`;
}

function Functions({ stats, functionId, search, open }: { stats: SampledStats; functionId: number | null; search: string; open: (row: SampledRow) => void }) {
  const rows = stats.rows.filter((row) => !search || row.name.toLowerCase().includes(search.toLowerCase())).slice(0, FUNCTIONS);
  const most = stats.rows.reduce((high, row) => Math.max(high, row.self), 1);
  return (
    <table class="tight functions">
      <thead>
        <tr>
          <th>Function</th>
          <th class="num">Self</th>
          <th />
          <th class="num">Total</th>
        </tr>
      </thead>
      <tbody>
        {!rows.length && (
          <tr>
            <td colSpan={4}>No function has "{search}" in its name.</td>
          </tr>
        )}
        {rows.map((row) => (
          <tr key={row.function} class={`opens${row.function === functionId ? ' sel' : ''}`} onClick={() => open(row)}>
            <td class="cut mono" title={`${row.name}${row.under ? ` under ${row.under}` : ''}${row.guessed ? '\n?: its start is a guess, the module has no symbols' : ''}\n${row.file ? `${row.file}:${row.line}` : row.module}`}>
              <button class="plain" onClick={(event) => (event.stopPropagation(), open(row))} aria-current={row.function === functionId}>
                {rowLabel(row)}
              </button>
            </td>
            <td class="num">{percent(row.self / Math.max(stats.samples, 1))}</td>
            <td class="bar-cell">
              <Share part={row.self / most} color="rgba(var(--heat), .75)" width={56} />
            </td>
            <td class="num dim">{percent(row.total / Math.max(stats.samples, 1))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Foot({ annotated, at, of }: { annotated: Annotated; at: At | null; of: Of }) {
  const line = at ? annotated.files[at[0]]?.lines.find((one) => one.line === at[1]) : undefined;
  const lit = at ? annotated.code.filter((one) => sameAt(one.l, at)).length : 0;
  const all = of === 'function' ? annotated.self : annotated.samples;
  return (
    <footer class="source-foot">
      {line && at ? (
        <>
          <span>
            <b>Line {at[1]}</b> {percent(line.self / Math.max(all, 1))} of the {of}, {count(line.self)} {plural(line.self, 'sample')}
          </span>
          {annotated.code.length > 0 && (
            <span>
              {count(lit)} {plural(lit, 'instruction')} of it lit in the disassembly
            </span>
          )}
        </>
      ) : (
        <span>
          {count(annotated.self)} {plural(annotated.self, 'sample')} in it, {count(annotated.total)} including callees
        </span>
      )}
      {annotated.by_timer && <span class="faint">samples were taken by a timer: an instruction's share often belongs to the one before it</span>}
      <span class="grow" />
      <span class="key">
        <kbd>h</kbd> next hot line
      </span>
      <span class="key">
        <kbd>Shift</kbd> <kbd>h</kbd> previous
      </span>
    </footer>
  );
}

export function Source({ state }: { state: State }) {
  const functionId = useSignal(state.functionId);
  const { filter, key } = useFilter(state);
  const [of, setOf] = useSetting<Of>(state, 'of', 'function');
  const [search, setSearch] = useSetting<string>(state, 'functions', '');
  const [at, setAt] = useState<At | null>(null);
  const [address, setAddress] = useState('');
  const has = state.meta.has.samples;
  const stats = useAsk(() => (has ? state.source.sampledStats(filter) : Promise.resolve(null)), [key]);
  const flame = useAsk(() => (has ? state.source.flame(filter, 'merged') : Promise.resolve(null)), [key]);
  const asked = useAsk(() => (functionId !== null && has ? state.source.annotate(functionId, filter) : Promise.resolve(null)), [functionId, key]);
  const annotated = asked.value;
  const hasText = annotated !== null && hasSource(annotated);
  const hot = useMemo(() => (annotated ? hotLines(annotated) : []), [annotated]);
  const steps = useRef<(by: 1 | -1) => void>(() => undefined);
  const columns = useRef<HTMLDivElement>(null);
  const bare = useMemo(() => (annotated && !hot.length ? hotAddresses(annotated) : []), [annotated]);
  steps.current = (by) => {
    if (hot.length) setAt(stepHot(hot, at, by));
    else if (bare.length) setAddress(bare[(bare.indexOf(address) + by + bare.length) % bare.length]!);
  };

  useEffect(() => {
    if (functionId === null && stats.value?.rows.length) state.functionId.set(firstShown(stats.value.rows).function);
  }, [stats.value]);
  // where columns are below one another, the code comes first: it is what was asked for
  useEffect(() => {
    const code = columns.current?.children[1] as HTMLElement | undefined;
    if (code) columns.current!.scrollTop = code.offsetTop - columns.current!.offsetTop;
  }, [annotated]);
  useEffect(() => {
    setAt(hot[0]?.at ?? null);
    setAddress(bare[0] ?? '');
  }, [hot]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.key.toLowerCase() !== 'h') return;
      steps.current(event.shiftKey ? -1 : 1);
      event.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);

  if (!has)
    return (
      <main>
        <NoSamples state={state} />
      </main>
    );
  return (
    <main class="column-page">
      <div class="page-tool">
        <FilterFields state={state} />
        <input class="field" type="search" placeholder="Search functions" aria-label="Search functions" value={search} onInput={(event) => setSearch((event.target as HTMLInputElement).value)} />
        <span class="faint">
          {stats.value ? `${count(stats.value.samples)} ${plural(stats.value.samples, 'sample')}` : ''}
          {stats.value?.hz ? ` · 1 sample = ${(1000 / stats.value.hz).toFixed(2)} ms` : ''}
          {stats.value?.rooted !== undefined && stats.value.samples ? ` · ${percent(stats.value.rooted / stats.value.samples)} reach the thread's root` : ''}
        </span>
        <span class="grow" />
        <button class="button small" disabled={!hot.length && !bare.length} onClick={() => steps.current(-1)} title="Shift + H">
          ‹ Hotter line
        </button>
        <button class="button small" disabled={!hot.length && !bare.length} onClick={() => steps.current(1)} title="H">
          Next hot line ›
        </button>
        <span class="select">
          <span class="sub">Percent of</span>
          <Segmented
            label="Percent of"
            value={of}
            options={[
              ['function', 'function'],
              ['trace', filter.from !== undefined ? 'range' : 'trace'],
            ]}
            onChange={setOf}
          />
        </span>
      </div>
      <div class={`source-columns${annotated && !hasText ? ' no-source' : ''}`} ref={columns}>
        <section>
          <div class="column-head">
            <h2>Flame graph</h2>
            <span class="faint">width = samples, click to zoom</span>
          </div>
          <div class="source-left">
            {flame.value && flame.value.samples > 0 && (
              <div class="source-flame">
                <FlameGraph flame={flame.value} search={search} functionId={functionId} onChoose={(one) => state.functionId.set(one)} onOpen={(one) => state.functionId.set(one)} label="Flame graph of samples" />
              </div>
            )}
            {stats.value && <Functions stats={stats.value} functionId={functionId} search={search} open={(row) => state.functionId.set(row.function)} />}
          </div>
        </section>
        {asked.error && (
          <section>
            <Nothing title="This function cannot be shown.">{asked.error}</Nothing>
          </section>
        )}
        {annotated && !asked.error && (
          <>
            {hasText && <SourceText annotated={annotated} at={at} of={of} choose={setAt} />}
            <Code annotated={annotated} at={at} address={address} of={of} choose={setAt} />
          </>
        )}
      </div>
      {annotated && <Foot annotated={annotated} at={at} of={of} />}
    </main>
  );
}
