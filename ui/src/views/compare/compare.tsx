// SPDX-License-Identifier: Apache-2.0
// Two traces of one server, chosen here; or two whose comparison is in the page.
import { useState } from 'preact/hooks';
import type { Server } from '../../api/client.ts';
import { asDiff, type Diff } from '../../api/diff.ts';
import type { TraceEntry, Traces } from '../../api/types.ts';
import { day } from '../../base/day.ts';
import { bytes, duration } from '../../base/format.ts';
import type { State } from '../../data/state.ts';
import { useAsk, useSetting, useSignal } from '../../widgets/hooks.ts';
import { CompareBody } from './body.tsx';
import { Both } from './both.tsx';
import { partner } from './words.ts';

function Card({ side, children }: { side: 'A' | 'B'; children: preact.ComponentChildren }) {
  return (
    <div class="compare-card panel">
      <span class={`compare-side ${side}`}>{side}</span>
      <div>{children}</div>
    </div>
  );
}

function Picker({ side, traces, value, onChange }: { side: 'A' | 'B'; traces: TraceEntry[]; value: number; onChange: (id: number) => void }) {
  const chosen = traces.find((trace) => trace.id === value);
  return (
    <Card side={side}>
      <select class="field" aria-label={`Trace ${side}`} value={String(value)} onChange={(event) => onChange(Number((event.target as HTMLSelectElement).value))}>
        {traces.map((trace) => (
          <option key={trace.id} value={String(trace.id)}>
            {trace.name}
          </option>
        ))}
      </select>
      <div class="sub cut" title={chosen?.title}>
        {chosen?.title || chosen?.program}
      </div>
      <div class="faint">{[chosen?.length_ns ? duration(chosen.length_ns) : '', chosen ? bytes(chosen.bytes) : '', chosen?.start ? day(chosen.start) : ''].filter(Boolean).join(' · ')}</div>
    </Card>
  );
}

const USUAL = '5'; // per cent; see docs/diff.md

function Threshold({ value, onChange }: { value: string; onChange: (percent: string) => void }) {
  return (
    <label class="select" title="As diff --threshold">
      <span class="sub">Changes up to ±</span>
      <input
        class="field threshold"
        type="number"
        min="0.1"
        max="1000"
        step="any"
        value={value}
        onChange={(event) => {
          const percent = Number((event.target as HTMLInputElement).value);
          if (percent > 0 && percent <= 1000) onChange(String(percent));
        }}
      />
      <span class="sub">% are ignored</span>
    </label>
  );
}

export function Compare({ state, traces, server }: { state: State; traces: Traces | null; server: Server | null }) {
  const usable = (traces?.traces ?? []).filter((trace) => trace.state !== 'bad');
  const other = partner(usable, state.traceId);
  // What is open came second, as in "what did my change do".
  const { a: first = String(Math.min(other, state.traceId)), b: second = String(Math.max(other, state.traceId)) } = useSignal(state.settings);
  const [threshold, setThreshold] = useSetting<string>(state, 'threshold', USUAL);
  const [all, setAll] = useSetting<string>(state, 'all', '');
  const [a, b] = [Number(first), Number(second)];
  const { value, error, busy } = useAsk(async () => (server && a !== b ? { a, b, diff: asDiff(await server.compare(a, b, threshold)) } : null), [a, b, threshold]);
  const fresh = value && value.a === a && value.b === b ? value.diff : null;
  const swap = () => {
    state.set('a', second);
    state.set('b', first);
  };
  const pickers = (
    <div class="compare-cards">
      <Picker side="A" traces={usable} value={a} onChange={(id) => state.set('a', String(id))} />
      <button class="button small" title="B before A" aria-label="Swap A and B" onClick={swap}>
        ⇄
      </button>
      <Picker side="B" traces={usable} value={b} onChange={(id) => state.set('b', String(id))} />
    </div>
  );
  if (fresh && !error)
    return (
      <main class="compare">
        <CompareBody
          diff={fresh}
          pickers={pickers}
          all={all !== ''}
          setAll={(on) => setAll(on ? '1' : '')}
          fields={<Threshold value={threshold} onChange={setThreshold} />}
          chart={(model) => server && <Both server={server} a={a} b={b} model={model} />}
        />
      </main>
    );
  return (
    <main class="compare">
      <section class="compare-top">
        <div>
          <h1>{a === b ? 'Choose two traces.' : error ? 'These two cannot be compared.' : busy ? '\u00a0' : ''}</h1>
          <p class="sub">{a === b ? 'A is the baseline, B is the change.' : error || 'Reading both traces.'}</p>
        </div>
        {pickers}
      </section>
    </main>
  );
}

/** The page that `inferogram diff --html` writes. */
export function ComparedFiles({ diff }: { diff: Diff }) {
  const name = (path: string): string => path.split('/').pop() || path;
  const [all, setAll] = useState(false);
  return (
    <div class="frame">
      <main class="compare">
        <CompareBody
          diff={diff}
          all={all}
          setAll={setAll}
          pickers={
            <div class="compare-cards">
              <Card side="A">
                <b title={diff.a}>{name(diff.a)}</b>
              </Card>
              <span />
              <Card side="B">
                <b title={diff.b}>{name(diff.b)}</b>
              </Card>
            </div>
          }
        />
      </main>
    </div>
  );
}
