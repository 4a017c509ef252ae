// SPDX-License-Identifier: Apache-2.0
// Slices around another one on its thread: the one before, the one after, the first inside. Asked in ever finer detail until one stands alone.
import type { TraceSource } from '../../api/source.ts';
import type { SliceDetails, Slices } from '../../api/types.ts';

const PX = 16384;
const TRIES = 24;

/** The first (or last) slice of a row that begins in [from, to); null: there is none. */
export async function sliceIn(source: TraceSource, track: string, row: number, from: number, to: number, last: boolean): Promise<number | null> {
  for (let tries = 0; tries < TRIES && to > from; tries++) {
    const slices: Slices = await source.slices(track, { from, to, px: PX });
    let best = -1;
    for (let i = 0; i < slices.count; i++) {
      const start = slices.start[i]!;
      const end = start + slices.duration[i]!;
      // several that are drawn together may begin before the range and go on in it
      if (slices.row[i] !== row || start >= to || (slices.merged[i] === 1 ? start < from : end <= from)) continue;
      if (best < 0 || (last ? start > slices.start[best]! : start < slices.start[best]!)) best = i;
    }
    if (best < 0) return null;
    if (slices.merged[best] === 1) return slices.id[best]!;
    const [inner, outer] = [Math.max(from, slices.start[best]!), Math.min(to, slices.start[best]! + slices.duration[best]! + 1)];
    if (inner === from && outer === to) return slices.id[best]!; // as fine as it gets
    [from, to] = [inner, outer];
  }
  return null;
}

export function child(source: TraceSource, { thread, depth, start, duration }: SliceDetails): Promise<number | null> {
  return thread ? sliceIn(source, thread.track, depth + 1, start, start + duration + 1, false) : Promise.resolve(null);
}

/** In ever larger steps, so that a far neighbour is found and a near one quickly. */
export async function neighbour(source: TraceSource, { thread, depth, start, duration }: SliceDetails, direction: 1 | -1, length: number): Promise<number | null> {
  if (!thread) return null;
  const edge = direction > 0 ? Math.ceil(start + Math.max(duration, 1)) : start;
  for (let reach = Math.max(duration * 16, 1e5), done = 0; ; done = reach, reach *= 16) {
    const from = direction > 0 ? edge + done : Math.max(edge - reach, 0);
    const to = direction > 0 ? Math.min(edge + reach, length + 1) : edge - done;
    const found = to > from ? await sliceIn(source, thread.track, depth, from, to, direction < 0) : null;
    if (found !== null || (direction > 0 ? edge + reach > length : edge - reach <= 0)) return found;
  }
}
