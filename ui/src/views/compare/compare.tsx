// SPDX-License-Identifier: Apache-2.0
// Two traces of one server, chosen here; or two whose comparison is in the page.
import { useState } from 'preact/hooks';
import type { Server } from '../../api/client.ts';
import { asDiff, type Diff } from '../../api/diff.ts';
import type { TraceEntry, Traces } from '../../api/types.ts';
import { bytes, duration } from '../../base/format.ts';
import type { State } from '../../data/state.ts';
import { useAsk } from '../../widgets/hooks.ts';
import { CompareBody } from './body.tsx';
import { Both } from './both.tsx';

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
      <div class="sub">{[chosen?.program, chosen?.length_ns ? duration(chosen.length_ns) : '', chosen ? bytes(chosen.bytes) : ''].filter(Boolean).join(' · ')}</div>
    </Card>
  );
}

export function Compare({ state, traces, server }: { state: State; traces: Traces | null; server: Server | null }) {
  const usable = (traces?.traces ?? []).filter((trace) => trace.state !== 'bad');
  const other = usable.find((trace) => trace.id !== state.traceId)?.id ?? state.traceId;
  // What is open came second, as in "what did my change do".
  const [a, setA] = useState(Math.min(other, state.traceId));
  const [b, setB] = useState(Math.max(other, state.traceId));
  const { value, error, busy } = useAsk(async () => (server && a !== b ? { a, b, diff: asDiff(await server.compare(a, b)) } : null), [a, b]);
  const fresh = value && value.a === a && value.b === b ? value.diff : null;
  const pickers = (
    <div class="compare-cards">
      <Picker side="A" traces={usable} value={a} onChange={setA} />
      <Picker side="B" traces={usable} value={b} onChange={setB} />
    </div>
  );
  if (fresh)
    return (
      <main class="compare">
        <CompareBody diff={fresh} pickers={pickers} chart={(model) => server && <Both server={server} a={a} b={b} model={model} />} />
      </main>
    );
  return (
    <main class="compare">
      <section class="compare-top">
        <div>
          <h1>{a === b ? 'Choose two traces.' : error ? 'These two cannot be compared.' : busy ? '\u00a0' : ''}</h1>
          <p class="sub">{a === b ? 'A is what it was, B what it is now.' : error || 'Reading both traces.'}</p>
        </div>
        {pickers}
      </section>
    </main>
  );
}

/** The page that `inferogram diff --html` writes. */
export function ComparedFiles({ diff }: { diff: Diff }) {
  const name = (path: string): string => path.split('/').pop() || path;
  return (
    <div class="frame">
      <main class="compare">
        <CompareBody
          diff={diff}
          pickers={
            <div class="compare-cards">
              <Card side="A">
                <b>{name(diff.a)}</b>
              </Card>
              <Card side="B">
                <b>{name(diff.b)}</b>
              </Card>
            </div>
          }
        />
      </main>
    </div>
  );
}
