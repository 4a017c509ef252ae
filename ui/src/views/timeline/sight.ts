// SPDX-License-Identifier: Apache-2.0
// What is selected has to be in sight: which tracks show it, which have to be opened, how far to scroll.
import type { SliceDetails, Track } from '../../api/types.ts';
import { GAP, SLICE, type Choices, type Lane, type Layout } from './layout.ts';

/** The tracks that show a slice, its thread's first. */
export function tracksOf(slice: SliceDetails, tracks: Track[]): string[] {
  const shows = (track: Track): boolean => {
    if (slice.category && slice.kind === 'ml') return track.kind === 'ml' || ((track.kind === 'model' || track.kind === 'function') && track.model === slice.model);
    return slice.kind === 'op' && track.kind === 'ops' && track.model === slice.model;
  };
  return [...(slice.thread?.track ? [slice.thread.track] : []), ...tracks.filter(shows).map((track) => track.id)];
}

const partlyIn = (lane: Lane, top: number, height: number): boolean => lane.top + lane.height > top + 8 && lane.top < top + height - SLICE;

/** Opens what a track is folded into. True: something had to be. */
export function unfold(choices: Choices, tracks: Track[], id: string): boolean {
  const byId = new Map(tracks.map((track) => [track.id, track]));
  let changed = choices.hidden.delete(id);
  const track = byId.get(id);
  for (let at = track && track.rows > 1 ? id : track?.parent; at; at = byId.get(at)?.parent) {
    changed = choices.hidden.delete(at) || changed;
    const open = choices.opened.has(at) || (byId.get(at)?.open && !choices.closed.has(at));
    if (open) continue;
    choices.closed.delete(at);
    choices.opened.add(at);
    changed = true;
  }
  return changed;
}

/** Where to scroll so that one of the tracks can be seen: a number, 'here' if one can be, 'folded' if none is laid out. */
export function scrollFor(layout: Layout, ids: string[], depth: number, top: number, height: number): number | 'here' | 'folded' {
  // a closed thread shows its first row only
  const lanes = layout.lanes.filter((lane) => ids.includes(lane.track.id) && (lane.track.id !== ids[0] || depth < lane.rows));
  const own = lanes.find((lane) => lane.track.id === ids[0]);
  const at = (lane: Lane): number => lane.top + lane.sliceTop + Math.min(lane.track.id === ids[0] ? depth : 0, Math.max(lane.rows - 1, 0)) * (SLICE + GAP);
  if (lanes.some((lane) => partlyIn(lane, top, height) && at(lane) >= top && at(lane) + SLICE <= top + height)) return 'here';
  if (!own) return lanes[0] ? Math.max(0, at(lanes[0]) - height / 3) : 'folded';
  return Math.max(0, at(own) - height / 3);
}
