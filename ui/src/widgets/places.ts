// SPDX-License-Identifier: Apache-2.0
// From a row of a table to the timeline: the places it stands for are marked, the first or longest event is shown.
import type { State } from '../data/state.ts';

/** Marks these places and goes to their first event. */
export async function goToPlaces(state: State, places: number[], name: string): Promise<void> {
  if (!places.length) {
    state.say(`${name} has no event on the timeline.`);
    return;
  }
  const answer = await state.source.next(places, -1, 1);
  if (answer.id === null) {
    state.say(`${name} has no event on the timeline.`);
    return;
  }
  state.search.set(name);
  await state.goToSlice(answer.id);
}

export const placesOf = (state: State, fits: (place: State['meta']['places'][number]) => boolean): number[] => {
  const out: number[] = [];
  state.meta.places.forEach((place, i) => fits(place) && out.push(i));
  return out;
};
