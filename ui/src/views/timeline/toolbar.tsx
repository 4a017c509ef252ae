// SPDX-License-Identifier: Apache-2.0
// Above the tracks: what is in the measured range, as far as the filter lets it through, and what the colours mean.
import { count, duration, moment } from '../../base/format.ts';
import { span } from '../../base/view.ts';
import type { FlowArrows } from '../../data/flows.ts';
import type { State } from '../../data/state.ts';
import { useAsk, useSignal } from '../../widgets/hooks.ts';

const KEYS = ['specialization', 'load', 'setup', 'inference'] as const;

function Times({ of }: { of: { median_ns: number; max_ns: number } }) {
  return (
    <>
      <span>
        median <b>{duration(of.median_ns)}</b>
      </span>
      <span>
        max <b>{duration(of.max_ns)}</b>
      </span>
    </>
  );
}

/** All arrows in sight, and how many are too many. */
function FlowSwitch({ state, arrows }: { state: State; arrows: FlowArrows }) {
  const on = useSignal(state.flows);
  const { leftOut } = useSignal(arrows.inSight);
  return (
    <>
      {on && leftOut > 0 && <span class="sub">{count(leftOut)} arrows are {state.source.online ? 'left out; zoom in' : 'not in this file'}</span>}
      <button class={on ? 'button small on' : 'button small'} aria-pressed={on} title="Arrows of all visible flows (R)" onClick={() => state.flows.set(!on)}>
        Flows
      </button>
    </>
  );
}

export function Toolbar({ state, arrows, hasFlows, hidden, showAll }: { state: State; arrows: FlowArrows; hasFlows: boolean; hidden: number; showAll: () => void }) {
  const range = useSignal(state.range);
  const model = useSignal(state.model);
  useSignal(state.search);
  useSignal(state.hits);
  const { part, partWords } = state;
  const { value, error } = useAsk(() => (range ? state.source.range(range.from, range.to, part) : Promise.resolve(null)), [range?.from, range?.to, part.model, part.q]);
  const inferences = value && !part.q && value.inferences.n + value.inferences.open > 0 ? value.inferences : null;
  return (
    <div class={range && partWords ? 'toolbar crowded' : 'toolbar'}>
      {range ? (
        <span class="range-words">
          <b class="accent">
            Range {moment(range.from, span(range) / 100)} – {moment(range.to, span(range) / 100)}
            {partWords && <span title="Only what passes the filter is counted"> · only {partWords}</span>}
          </b>
          <span>
            length <b>{duration(span(range))}</b>
          </span>
          {inferences && (
            <>
              <span>
                inferences{' '}
                <b>
                  {count(inferences.n)}
                  {inferences.open ? ` + ${inferences.open} open` : ''}
                </b>
              </span>
              <Times of={inferences} />
            </>
          )}
          {value && !inferences && partWords && (
            <>
              <span>
                events <b>{count(value.events.n)}</b>
              </span>
              {value.events.n > 0 && (
                <span>
                  total <b>{duration(value.events.total_ns)}</b>
                </span>
              )}
              {value.events.n > 0 && <Times of={value.events} />}
            </>
          )}
          {error && <span>{error}</span>}
          {value && value.cpu.busy_cores !== null && (
            <span>
              {partWords ? 'CPU in all' : 'CPU'} <b>{value.cpu.busy_cores.toFixed(1)} cores</b>
            </span>
          )}
        </span>
      ) : (
        <span class="sub">Drag on the ruler to measure a range · ? shows all keys</span>
      )}
      <span class="grow" />
      {hasFlows && <FlowSwitch state={state} arrows={arrows} />}
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
      <span class="toolbar-keys">
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
      </span>
    </div>
  );
}
