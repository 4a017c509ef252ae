// SPDX-License-Identifier: Apache-2.0
// Above the tracks: what is in the measured range, and what the colours mean.
import { count, duration, moment } from '../../base/format.ts';
import { span } from '../../base/view.ts';
import type { State } from '../../data/state.ts';
import { useAsk, useSignal } from '../../widgets/hooks.ts';

const KEYS = ['specialization', 'load', 'setup', 'inference'] as const;

export function Toolbar({ state, hidden, showAll }: { state: State; hidden: number; showAll: () => void }) {
  const range = useSignal(state.range);
  const model = useSignal(state.model);
  const { value } = useAsk(() => (range ? state.source.range(range.from, range.to) : Promise.resolve(null)), [range?.from, range?.to]);
  return (
    <div class="toolbar">
      {range ? (
        <span class="range-words">
          <b class="accent">
            Range {moment(range.from, span(range) / 100)} – {moment(range.to, span(range) / 100)}
          </b>
          <span>
            length <b>{duration(span(range))}</b>
          </span>
          {value && value.inferences.n + value.inferences.open > 0 && (
            <>
              <span>
                inferences{' '}
                <b>
                  {count(value.inferences.n)}
                  {value.inferences.open ? ` + ${value.inferences.open} open` : ''}
                </b>
              </span>
              <span>
                median <b>{duration(value.inferences.median_ns)}</b>
              </span>
              <span>
                max <b>{duration(value.inferences.max_ns)}</b>
              </span>
            </>
          )}
          {value && value.cpu.busy_cores !== null && (
            <span>
              CPU <b>{value.cpu.busy_cores.toFixed(1)} cores</b>
            </span>
          )}
        </span>
      ) : (
        <span class="sub">Drag on the ruler to measure a range · ? shows all keys</span>
      )}
      <span class="grow" />
      {model !== null && (
        <button class="button small" onClick={() => state.model.set(null)}>
          Only {state.meta.models.find((m) => m.id === model)?.name ?? 'one model'} ×
        </button>
      )}
      {hidden > 0 && (
        <button class="button small" onClick={showAll}>
          Show {hidden} hidden
        </button>
      )}
      {KEYS.map((key) => (
        <span key={key} class="key">
          <span class={`sw ${key}`} />
          {key[0]!.toUpperCase() + key.slice(1)}
        </span>
      ))}
      {state.meta.has.states && (
        <>
          <span class="sep" />
          {['running', 'runnable', 'blocked'].map((name) => (
            <span key={name} class="key">
              <span class="dash" style={{ background: `var(--st-${name})` }} />
              {name}
            </span>
          ))}
        </>
      )}
    </div>
  );
}
