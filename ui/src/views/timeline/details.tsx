// SPDX-License-Identifier: Apache-2.0
// The selected event: its times, where it ran, how usual it is, what is inside it, which functions ran meanwhile.
import { useEffect, useRef } from 'preact/hooks';
import { categoryName, capital, deviceOf, plural, providerName, shortName } from '../../base/words.ts';
import { count, duration, moment, percent } from '../../base/format.ts';
import type { SliceDetails } from '../../api/types.ts';
import { drawHistogram } from '../../draw/histogram.ts';
import type { FlowArrows } from '../../data/flows.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk, useSignal } from '../../widgets/hooks.ts';
import { Share, StackBar, Swatch } from '../../widgets/parts.tsx';
import { Splitter, useHeight } from '../../widgets/splitter.tsx';
import { FlowList } from './flows.tsx';
import { reveal, step } from './keys.ts';

const FIRST_HEIGHT = 204;
const ROWS = 7;
const TEXT_MAX = 160;
const ARGUMENTS: Record<string, string> = { shapes: 'Input', ops: 'Operators', why: 'Because', op_name: 'Type', input_type_shape: 'Input', output_type_shape: 'Output', thread_scheduling_stats: 'Threads', ends_on: 'Ends on' };

/** "Inference", or the zone's own name. */
const titleOf = (slice: SliceDetails): string => (slice.category ? categoryName(slice.category) : slice.name);

function Title({ slice, state }: { slice: SliceDetails; state: State }) {
  const { same } = slice;
  const button = (where: 'previous' | 'next' | 'slower', key: string, title: string) => (
    <button class="kbd" disabled={(same?.[where] ?? null) === null} title={`${title} (${key})`} aria-label={title} onClick={() => void step(state, where)}>
      {key}
    </button>
  );
  return (
    <div class="details-title">
      {slice.category ? <Swatch of={slice.category} /> : null}
      <b title={slice.name}>{titleOf(slice)}</b>
      {slice.unfinished && <span class="chip bad">open</span>}
      <span class="grow" />
      {same && (
        <>
          {button('previous', '[', 'Previous of the same kind')}
          {button('next', ']', 'Next of the same kind')}
          {button('slower', '.', 'Next slower one')}
        </>
      )}
      <button class="kbd" title="Zoom to it (F)" aria-label="Zoom to it" onClick={() => state.goTo(slice.start, slice.start + slice.duration, slice.id)}>
        f
      </button>
      <button class="kbd" title="Close (Esc)" aria-label="Close" onClick={() => state.selection.set(null)}>
        ×
      </button>
    </div>
  );
}

function Facts({ slice, state, arrows }: { slice: SliceDetails; state: State; arrows: FlowArrows }) {
  const model = state.meta.models.find((one) => one.id === slice.model);
  const step = Math.max(slice.duration / 100, 1);
  const { same, states } = slice;
  return (
    <section class="details-facts">
      <Title slice={slice} state={state} />
      <dl class="kv">
        {model && (
          <>
            <dt>Model</dt>
            <dd>
              <button class="link" title="Only this model (T)" onClick={() => state.model.set(state.model.value === model.id ? null : model.id)}>
                {model.name}
              </button>
              {slice.function && ` · ${slice.function}`}
            </dd>
          </>
        )}
        <dt>Duration</dt>
        <dd>
          <b>{duration(slice.duration)}</b>{' '}
          {slice.unfinished ? <span class="sub">so far</span> : same && <span class="sub">{same.n > 1 ? `slower than ${percent(same.rank)}` : 'the only one'}</span>}
        </dd>
        <dt>Start – end</dt>
        <dd>
          {moment(slice.start, step)} – {moment(slice.start + slice.duration, step)}
        </dd>
        {slice.thread?.track && (
          <>
            <dt>Thread</dt>
            <dd>
              {slice.thread.name} · tid {slice.thread.tid}
              {slice.process && slice.process !== slice.thread.name && <span class="sub"> · {slice.process}</span>}
            </dd>
          </>
        )}
        {states && (
          <>
            <dt>It was</dt>
            <dd>
              <States {...states} />
            </dd>
          </>
        )}
        {slice.parent !== null && (
          <>
            <dt>Inside of</dt>
            <dd>
              <button class="link" onClick={() => void reveal(state, slice.parent!)}>
                its parent
              </button>
            </dd>
          </>
        )}
        {slice.inputs && (
          <>
            <dt>Inputs</dt>
            <dd>
              <button class="link" onClick={() => void save(state, slice).catch(({ message }) => alert(message))}>
                Export inputs
              </button>
            </dd>
          </>
        )}
        <FlowList slice={slice} state={state} arrows={arrows} />
        {slice.args.map(({ key, value }) => (
          <>
            <dt title={key}>{ARGUMENTS[key] ?? capital(key.replaceAll('_', ' '))}</dt>
            {key === 'ops' ? (
              <dd class="sub">{Number(value) ? 'recorded, which makes it slower' : 'not recorded'}</dd>
            ) : (
              <dd class="mono" title={String(value)}>
                {String(value).slice(0, TEXT_MAX)}
              </dd>
            )}
          </>
        ))}
      </dl>
    </section>
  );
}

async function save({ source }: State, { id, inputs }: SliceDetails): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([await source.inputs!(id)]));
  link.download = inputs!;
  link.click();
}

function States({ running_ns, runnable_ns, blocked_ns }: { running_ns: number; runnable_ns: number; blocked_ns: number }) {
  const parts = [
    { name: 'running', value: running_ns, color: 'var(--st-running)' },
    { name: 'runnable', value: runnable_ns, color: 'var(--st-runnable)' },
    { name: 'blocked', value: blocked_ns, color: 'var(--st-blocked)' },
  ].filter((part) => part.value > 0);
  return (
    <>
      <StackBar parts={parts} height={6} />
      <span class="sub">{parts.map((part) => `${part.name} ${duration(part.value)}`).join(' · ')}</span>
    </>
  );
}

/** Where the nodes of its model ran: what the event itself says, else what the report knows of the model. */
async function placementOf(state: State, slice: SliceDetails): Promise<SliceDetails['placement']> {
  if (slice.placement || slice.category !== 'inference') return slice.placement;
  const name = state.meta.models.find((model) => model.id === slice.model)?.name;
  const placement = (await reportOf(state.source)).models.find((model) => model.name === name)?.placement;
  return placement ? { asked: placement.requested.join(', '), nodes: Object.entries(placement.nodes).map(([provider, nodes]) => ({ provider, nodes })) } : null;
}

function Where({ slice, state }: { slice: SliceDetails; state: State }) {
  const placement = useAsk(() => placementOf(state, slice), [slice.model, slice.category, slice.placement]).value;
  if (!slice.category || !placement?.nodes.length) return null; // an operator says where it ran itself
  const all = placement.nodes.reduce((sum, one) => sum + one.nodes, 0);
  return (
    <section>
      <h2>
        Where it ran <span>{placement.asked ? `asked for ${placement.asked.split(/[ ,]+/).map(providerName).join(', ')}` : ''}</span>
      </h2>
      <StackBar height={14} parts={placement.nodes.map((one) => ({ name: providerName(one.provider), value: one.nodes, color: `var(--dev-${deviceOf(one.provider)})` }))} />
      <table>
        <tbody>
          {placement.nodes.map((one) => (
            <tr key={one.provider}>
              <td>
                <span class="key">
                  <span class={`sw ${deviceOf(one.provider)}`} />
                  <span class="ink">{providerName(one.provider)}</span>
                </span>
              </td>
              <td class="num">
                <b>{count(one.nodes)}</b> of {count(all)} nodes
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {state.meta.has.ops && (
        <button class="link" onClick={() => state.page.set('operators')}>
          Show all operators
        </button>
      )}
    </section>
  );
}

function Usual({ slice, height }: { slice: SliceDetails; height: number }) {
  const { histogram, same } = slice;
  if (!histogram || !same || same.n < 2) return null;
  const what = slice.category ? `All ${slice.category === 'inference' ? 'inferences' : categoryName(slice.category).toLowerCase() + 's'}${slice.function ? ` of ${slice.function}` : ''}` : 'All of this name';
  const marks = { median: same.median, p90: same.p90, p99: same.p99, this: slice.duration, n: same.n };
  return (
    <section>
      <h2>
        {what} <span>{count(same.n)} · log count</span>
      </h2>
      <Chart
        height={Math.max(90, height - 42)}
        label={`${what}: histogram of durations. This one took ${duration(slice.duration)}, the median is ${duration(same.median)}.`}
        keys={[slice.id, slice.duration, height]}
        draw={(context, w, h, palette) => drawHistogram(context, histogram, marks, 0, 4, w, h - 4, slice.category ? palette.category(slice.category).fill : palette.resLine, palette)}
      >
        <TwinTable
          title={what}
          head={['figure', 'duration']}
          rows={[
            ['this one', duration(slice.duration)],
            ['shortest', duration(same.min)],
            ['median', duration(same.median)],
            ['90 of 100 are shorter than', duration(same.p90)],
            ['99 of 100 are shorter than', duration(same.p99)],
            ['longest', duration(same.max)],
          ]}
        />
      </Chart>
    </section>
  );
}

function Inside({ slice, state, rows }: { slice: SliceDetails; state: State; rows: number }) {
  const list = slice.children;
  if (!list.length) return null;
  const shown = list.slice(0, rows);
  const rest = list.slice(rows);
  const most = Math.max(...list.map((child) => child.total_ns), 1);
  const itself = slice.duration - list.reduce((sum, child) => sum + child.total_ns, 0);
  const line = (name: string, many: number, ns: number, find?: string) => (
    <tr key={name}>
      <td class="cut" title={name}>
        {find ? (
          <button class="plain" onClick={() => state.search.set(find)} title="Find all of them">
            {name}
          </button>
        ) : (
          <span class="sub">{name}</span>
        )}
        {many > 1 && <span class="faint"> × {count(many)}</span>}
      </td>
      <td class="bar-cell">
        <Share part={ns / most} color={slice.category ? 'var(--dev-cpu)' : 'var(--st-running)'} width={56} />
      </td>
      <td class="num">{duration(ns)}</td>
    </tr>
  );
  return (
    <section>
      <h2>
        Inside it <span>{duration(slice.duration)}</span>
      </h2>
      <table>
        <tbody>
          {shown.map((child) => line(categoryName(child.name), child.count, child.total_ns, child.name === 'other' ? undefined : child.name))}
          {rest.length > 0 && line(`${rest.length} more`, 0, rest.reduce((sum, child) => sum + child.total_ns, 0))}
          {itself > 0 && line('itself', 0, itself)}
        </tbody>
      </table>
    </section>
  );
}

function Functions({ slice, state, rows }: { slice: SliceDetails; state: State; rows: number }) {
  const samples = slice.samples;
  if (!samples || !state.meta.has.samples) return null;
  const list = samples.functions.filter((one) => one.self > 0);
  const shown = list.slice(0, rows);
  const told = shown.reduce((sum, one) => sum + one.self, 0);
  const most = Math.max(...list.map((one) => one.self), 1);
  return (
    <section>
      <h2>
        Top functions inside{' '}
        <span>
          {count(samples.n)} {plural(samples.n, 'sample')}, {slice.thread?.name}
        </span>
      </h2>
      {samples.n === 0 ? (
        <p class="sub">It contains no sample: it is shorter than the sampling interval.</p>
      ) : (
        <table>
          <tbody>
            {shown.map((one) => (
              <tr key={one.function}>
                <td class="cut mono" title={one.name}>
                  <button class="plain" onClick={() => state.openSource(one.function)}>
                    {shortName(one.name)}
                  </button>
                </td>
                <td class="bar-cell">
                  <Share part={one.self / most} color="var(--st-running)" width={48} />
                </td>
                <td class="num">{percent(one.self / samples.n)}</td>
              </tr>
            ))}
            {told < samples.n && (
              <tr>
                <td class="sub">other</td>
                <td />
                <td class="num">{percent((samples.n - told) / samples.n)}</td>
              </tr>
            )}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Details({ state, arrows, onShown }: { state: State; arrows: FlowArrows; onShown: (slice: SliceDetails) => void }) {
  const selection = useSignal(state.selection);
  const first = Math.min(FIRST_HEIGHT, Math.round(window.innerHeight * 0.36)); // a small window has to have room for tracks, too
  const size = useHeight('details', first, 96, () => Math.round(window.innerHeight * 0.7));
  const asked = useAsk(() => (selection ? state.source.slice(selection.slice) : Promise.resolve(null)), [selection?.slice]);
  const last = useRef<SliceDetails | null>(null);
  if (asked.value) last.current = asked.value;
  useEffect(() => {
    if (asked.value && asked.value.id === selection?.slice) onShown(asked.value);
  }, [asked.value]);
  if (!selection) return null;
  const slice = asked.value ?? last.current;
  const rows = Math.max(3, Math.min(12, Math.floor((size.height - 40) / 21) - 1, ROWS + Math.floor((size.height - FIRST_HEIGHT) / 21)));
  return (
    <div class="details-frame" style={{ height: `${size.height}px` }}>
      <Splitter size={size} first={first} label="Height of the details" />
      <aside class="details" aria-label="Details of the selected event" aria-busy={asked.busy}>
        {asked.error ? (
          <section>
            <p class="sub">Its details are not there: {asked.error}</p>
          </section>
        ) : slice ? (
          <>
            <Facts slice={slice} state={state} arrows={arrows} />
            <Where slice={slice} state={state} />
            <Usual slice={slice} height={size.height} />
            <Inside slice={slice} state={state} rows={rows} />
            <Functions slice={slice} state={state} rows={rows} />
          </>
        ) : null}
      </aside>
    </div>
  );
}
