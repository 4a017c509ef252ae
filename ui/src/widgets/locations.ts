// SPDX-License-Identifier: Apache-2.0
// From a row of a table to the timeline: the locations it stands for are marked, the first or longest event is shown.
import type { State } from '../data/state.ts';
import type { OpenCategory } from './modeltable.tsx';

/** Marks these locations and goes to their first event. */
export async function goToLocations(state: State, locations: number[], name: string): Promise<void> {
  if (!locations.length) {
    state.say(`${name} has no event on the timeline.`);
    return;
  }
  const answer = await state.source.next(locations, -1, 1);
  if (answer.id === null) {
    state.say(`${name} has no event on the timeline.`);
    return;
  }
  state.search.set(name);
  await state.goToSlice(answer.id);
}

export const locationsOf = (state: State, fits: (one: State['meta']['locations'][number]) => boolean): number[] => {
  const out: number[] = [];
  state.meta.locations.forEach((one, i) => fits(one) && out.push(i));
  return out;
};

/** The number of a model of the report; several processes may have one of the same name. -1: none. */
export function modelId(state: State, model: { name: string; pid: number }): number {
  const named = state.meta.models.filter((one) => one.name === model.name);
  return (named.find((one) => state.meta.processes[one.process]?.pid === model.pid) ?? named[0])?.id ?? -1;
}

/** From a category of a model to its first event. */
export function openCategory(state: State): OpenCategory {
  return (model, name, category) =>
    void goToLocations(
      state,
      locationsOf(state, (one) => one.category === category && one.function === name && one.model === modelId(state, model)),
      category,
    );
}
