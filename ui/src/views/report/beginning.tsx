// SPDX-License-Identifier: Apache-2.0
// The beginning of the recording: up to the first answers, as one picture.
import type { Track } from '../../api/types.ts';
import { duration } from '../../base/format.ts';
import type { State } from '../../data/state.ts';
import type { FirstRun } from '../../draw/dots.ts';
import { drawStrip, stripHeight, type StripLane } from '../../draw/strip.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { Head, StateKeys, Swatch } from '../../widgets/parts.tsx';

const WIDTH = 800;
const FUNCTIONS = 3;
const THREADS = 3;
const KEYS = ['Specialization', 'Load', 'Setup', 'Inference'] as const;

/** A round time that has the first inference in its first two thirds; without one the whole. */
export function firstStretch(first: FirstRun | null, length: number): number {
  if (!first) return length;
  const least = (first.start + first.duration) * 1.5;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const round = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10].map((m) => m * power).find((value) => value >= least) ?? least;
  return Math.min(round, length);
}

async function lanesOf(state: State, to: number): Promise<StripLane[]> {
  const { source, meta } = state;
  const window = { from: 0, to, px: WIDTH };
  const out: StripLane[] = [];
  const cores = meta.tracks.filter((track) => track.kind === 'counter' && track.stack);
  const cpu = cores.length ? cores : meta.tracks.filter((track) => track.kind === 'counter' && /^cpu total/i.test(track.label));
  if (cpu[0]) out.push({ track: cpu[0], label: 'CPU', kind: 'values', values: await Promise.all(cpu.map((track) => source.values(track.id, window))), slices: null });
  const named = (track: Track): string => {
    const model = meta.tracks.find((one) => one.id === track.parent)?.label ?? '';
    return [model.length > 12 ? `${model.slice(0, 11)}…` : model, track.label].filter(Boolean).join(' · ');
  };
  const threads = meta.tracks.filter((track) => track.kind === 'thread').sort((a, b) => b.count - a.count || b.samples - a.samples);
  for (const track of meta.tracks.filter((one) => one.kind === 'function').slice(0, FUNCTIONS)) out.push({ track, label: named(track), kind: 'slices', values: [], slices: await source.slices(track.id, window) });
  if (!out.some((lane) => lane.kind === 'slices')) for (const track of threads.slice(0, THREADS)) out.push({ track, label: track.label, kind: 'slices', values: [], slices: await source.slices(track.id, window) });
  for (const track of threads.filter((one) => one.states).slice(0, THREADS)) out.push({ track, label: track.label, kind: 'states', values: [], slices: await source.states(track.id, window) });
  return out;
}

export function Beginning({ state, first }: { state: State; first: FirstRun | null }) {
  const to = firstStretch(first, state.length);
  const { value: lanes } = useAsk(() => lanesOf(state, to), [state, to]);
  if (!lanes || !lanes.length) return null;
  const rows = lanes.flatMap((lane) => (lane.kind === 'slices' && lane.slices ? [...lane.slices.start.slice(0, 12)].map((start, i) => [lane.label, state.meta.locations[lane.slices!.location[i]!]?.name ?? '', duration(start), duration(lane.slices!.duration[i]!)]) : []));
  return (
    <section>
      <Head title={to < state.length ? `The first ${duration(to)}` : `All ${duration(to)}`}>
        <span class="keys">
          {state.meta.models.length > 0 &&
            KEYS.map((name) => (
              <span class="key" key={name}>
                <Swatch of={name.toLowerCase()} />
                {name}
              </span>
            ))}
        </span>
      </Head>
      <Chart
        height={stripHeight(lanes)}
        label={`What happened in the first ${duration(to)}`}
        keys={[lanes, to]}
        class="clickable"
        onPick={() => (state.show({ from: 0, to }), state.page.set('timeline'))}
        draw={(context, width, height, palette) => drawStrip(context, lanes, { from: 0, to }, state.meta, width, height, palette)}
      >
        <TwinTable title="What began first" head={['track', 'event', 'began at', 'took']} rows={rows} />
      </Chart>
      {lanes.some((lane) => lane.kind === 'states') && <StateKeys />}
    </section>
  );
}
