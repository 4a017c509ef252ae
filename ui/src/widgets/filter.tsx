// SPDX-License-Identifier: Apache-2.0
// What counts: one model or all, the measured range or the whole trace. Shared by the pages with statistics and samples.
import type { Filter } from '../api/source.ts';
import { duration } from '../base/format.ts';
import { span } from '../base/view.ts';
import type { State } from '../data/state.ts';
import { useSignal } from './hooks.ts';
import { Select } from './parts.tsx';

export interface Counted {
  filter: Filter;
  /** Changes when the filter does. */
  key: string;
}

/** The filter that model and range make. */
export function useFilter(state: State): Counted {
  const model = useSignal(state.model);
  const range = useSignal(state.range);
  const filter: Filter = {};
  if (model !== null) filter.model = model;
  if (range) {
    filter.from = Math.max(0, range.from);
    filter.to = range.to;
  }
  return { filter, key: JSON.stringify(filter) };
}

export function FilterFields({ state }: { state: State }) {
  const model = useSignal(state.model);
  const range = useSignal(state.range);
  return (
    <>
      {state.meta.models.length > 0 && (
        <Select
          label="Model"
          value={model ?? -1}
          options={[[-1, 'all'] as const, ...state.meta.models.map((one) => [one.id, one.name] as const)]}
          onChange={(id) => state.model.set(id < 0 ? null : id)}
        />
      )}
      {range && (
        <button class="button small" title="Count the whole trace" onClick={() => state.range.set(null)}>
          only the range of {duration(span(range))} ×
        </button>
      )}
    </>
  );
}
