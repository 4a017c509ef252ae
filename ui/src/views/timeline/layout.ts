// SPDX-License-Identifier: Apache-2.0
// Where each track is: which are expanded, pinned, hidden; their heights. Pure but for the sets of the user's choices.
import type { Slices, Track } from '../../api/types.ts';

export const SLICE = 16;
export const GAP = 1;
export const SAMPLED_CALL = 12;
export const STATE = 4;
export const COUNTER = 26;
export const STACKED = 46;
const HEAD = 24;
const PAD = 4;

export interface Choices {
  closed: Set<string>;
  opened: Set<string>;
  pinned: Set<string>;
  hidden: Set<string>;
  sampledCalls: Set<string>;
  /** Only this model's tracks, of those that belong to one. */
  model: number | null;
}

export interface Lane {
  track: Track;
  top: number;
  height: number;
  indent: number;
  hasChildren: boolean;
  open: boolean;
  pinned: boolean;
  /** Rows of slices that are drawn; a closed track of several rows shows the first. */
  rows: number;
  stateTop: number; // < 0: none
  sliceTop: number;
  sampledCallTop: number; // < 0: none
  sampledCallRows: number;
  sampledCallSkip: number; // outermost frames that are the same all over the view
  group: boolean; // a line above it: a new kind of tracks begins
  members: Track[]; // stacked counters
}

export interface Layout {
  lanes: Lane[];
  height: number;
}

export function isOpen(track: Track, choices: Choices): boolean {
  return choices.opened.has(track.id) || (track.open && !choices.closed.has(track.id));
}

const MORE = 'more-resources';

/** Resources that few people look at go into a folder of their own, and the cores of a CPU get one name. */
export function arrange(tracks: Track[]): Track[] {
  const stacked = new Map<string, number>();
  for (const track of tracks) if (track.stack) stacked.set(track.stack, (stacked.get(track.stack) ?? 0) + 1);
  const isMore = (track: Track) => track.kind === 'counter' && !track.parent && !track.stack && (!track.open || (stacked.size > 0 && track.label === 'cpu total'));
  const more = tracks.filter(isMore).map((track) => ({ ...track, parent: MORE }));
  const named = (track: Track): Track => (track.stack && (stacked.get(track.stack) ?? 0) > 1 ? { ...track, label: 'CPU', sub: `${track.sub && `${track.sub}, `}${stacked.get(track.stack)} cores, stacked` } : track);
  // a thread without a name says its number once
  const others = tracks.filter((track) => !isMore(track)).map((track) => (track.kind === 'thread' && track.sub && track.label === track.sub.replace(/^tid /, 'thread ') ? { ...track, sub: '' } : track));
  const folder: Track = { id: MORE, kind: 'process', parent: '', label: 'More resources', sub: String(more.length), rows: 0, unit: '', min: 0, max: 0, scale: null, stack: '', samples: 0, states: false, count: 0, model: -1, open: false };
  return [...others.filter((track) => track.kind === 'counter').map(named), ...(more.length ? [folder, ...more] : []), ...others.filter((track) => track.kind !== 'counter')];
}

const GROUPS: Record<string, string> = { counter: 'resources', ml: 'ml', model: 'ml', function: 'ml', lane: 'ml', ops: 'ops', process: 'threads', thread: 'threads', async: 'async', messages: 'async', frames: 'async', gpu: 'devices', npu: 'devices' };

export function layOut(tracks: Track[], choices: Choices, sampledCallDepth: (id: string) => { rows: number; skip: number }): Layout {
  const children = new Map<string, Track[]>();
  const lanes: Lane[] = [];
  let top = 0;
  let group = '';
  const seenStacks = new Set<string>();

  for (const track of tracks) {
    const list = children.get(track.parent);
    if (list) list.push(track);
    else children.set(track.parent, [track]);
  }

  const place = (track: Track, indent: number, pinned: boolean): void => {
    const kids = children.get(track.id) ?? [];
    const open = isOpen(track, choices);
    const members = track.kind === 'counter' && track.stack ? tracks.filter((other) => other.stack === track.stack) : [];
    const now = pinned ? 'pinned' : track.id === MORE ? 'resources' : GROUPS[track.kind] ?? '';
    const lane: Lane = { track, top, height: HEAD, indent, hasChildren: kids.length > 0 || track.rows > 1, open, pinned, rows: 0, stateTop: -1, sliceTop: 0, sampledCallTop: -1, sampledCallRows: 0, sampledCallSkip: 0, group: now !== group, members };

    group = now;
    if (track.kind === 'counter') {
      lane.height = members.length > 1 ? STACKED : COUNTER;
    } else if (track.kind !== 'process') {
      let y = PAD;
      if (track.states) {
        lane.stateTop = 0;
        y = STATE + 2;
      }
      lane.rows = Math.max(open || kids.length ? track.rows : Math.min(track.rows, 1), 0);
      if (!open && kids.length) lane.rows = Math.min(track.rows, 1);
      lane.sliceTop = y;
      y += lane.rows * (SLICE + GAP);
      if (choices.sampledCalls.has(track.id)) {
        lane.sampledCallTop = y;
        const { rows, skip } = sampledCallDepth(track.id);
        lane.sampledCallRows = rows;
        lane.sampledCallSkip = skip;
        y += lane.sampledCallRows * (SAMPLED_CALL + GAP);
      }
      lane.height = Math.max(y + PAD - 1, HEAD);
    }
    lanes.push(lane);
    top += lane.height;
  };

  const walk = (track: Track, indent: number): void => {
    if (choices.hidden.has(track.id) || choices.pinned.has(track.id)) return;
    if (choices.model !== null && track.model >= 0 && track.model !== choices.model) return;
    if (track.stack) {
      if (seenStacks.has(track.stack)) return;
      seenStacks.add(track.stack);
    }
    place(track, indent, false);
    if (isOpen(track, choices)) for (const kid of children.get(track.id) ?? []) walk(kid, indent + 1);
  };

  for (const track of tracks) if (choices.pinned.has(track.id)) place(track, 0, true);
  const known = new Set(tracks.map((track) => track.id));
  for (const track of tracks) if (!known.has(track.parent)) walk(track, 0);
  return { lanes, height: top };
}

/** Rows from the outermost on that are one and the same function nearly all the time. */
export function commonRows(sampledCalls: Slices): number {
  const times: Map<number, number>[] = [];
  let whole = 0;
  for (let i = 0; i < sampledCalls.count; i++) {
    const row = (times[sampledCalls.row[i]!] ??= new Map<number, number>());
    row.set(sampledCalls.location[i]!, (row.get(sampledCalls.location[i]!) ?? 0) + sampledCalls.duration[i]!);
    if (sampledCalls.row[i] === 0) whole += sampledCalls.duration[i]!;
  }
  let rows = 0;
  while (rows < times.length && times[rows] && Math.max(...times[rows]!.values()) >= 0.85 * whole) rows++;
  return rows;
}

export function laneAt(layout: Layout, y: number): Lane | null {
  let low = 0;
  let high = layout.lanes.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const lane = layout.lanes[middle]!;
    if (y < lane.top) high = middle - 1;
    else if (y >= lane.top + lane.height) low = middle + 1;
    else return lane;
  }
  return null;
}
