// SPDX-License-Identifier: Apache-2.0
// The timeline: minimap, ruler, labels, tracks, and the details of what is selected.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Busy, ProgramFunction, SliceDetails, Slices, Values } from '../../api/types.ts';
import { count, duration, moment, quantity } from '../../base/format.ts';
import { signal, type Signal } from '../../base/signal.ts';
import { span, toTime } from '../../base/view.ts';
import { FlowArrows } from '../../data/flows.ts';
import { Loader } from '../../data/loader.ts';
import type { State } from '../../data/state.ts';
import { drawMinimap, drawRange, drawRuler } from '../../draw/axis.ts';
import { valueAt } from '../../draw/counter.ts';
import { Palette } from '../../draw/palette.ts';
import { sliceAt } from '../../draw/slices.ts';
import { useSignal } from '../../widgets/hooks.ts';
import { Details } from './details.tsx';
import { useTimelineKeys } from './keys.ts';
import { GAP, SAMPLED_CALL, SLICE, arrange, commonRows, laneAt, layOut, type Choices, type Lane, type Layout } from './layout.ts';
import { Motion } from './motion.ts';
import { paint } from './painter.ts';
import { handlePointer, type Target } from './pointer.ts';
import { scrollFor, tracksOf, unfold } from './sight.ts';
import { Toolbar } from './toolbar.tsx';

const MAP = 30;
const RULER = 22;
const LABELS_MS = 150;

/** A canvas in device pixels; draws when asked, at most once a frame. */
function useCanvas(draw: (context: CanvasRenderingContext2D, width: number, height: number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pending = useRef(0);
  const latest = useRef(draw);
  latest.current = draw;
  const ask = useMemo(
    () => () => {
      if (pending.current) return;
      pending.current = requestAnimationFrame(() => {
        pending.current = 0;
        const element = canvas.current;
        const context = element?.getContext('2d', { alpha: false });
        if (!element || !context) return;
        const ratio = window.devicePixelRatio || 1;
        const { width, height } = element.getBoundingClientRect();
        if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
          element.width = Math.round(width * ratio);
          element.height = Math.round(height * ratio);
        }
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        const began = performance.now();
        latest.current(context, width, height);
        element.dataset['drawMs'] = (performance.now() - began).toFixed(2);
      });
    },
    [],
  );
  return { canvas, ask };
}

interface Choosing {
  choices: Choices;
  change: (change: (choices: Choices) => void) => void;
}

function useChoices(): Choosing {
  const [choices, set] = useState<Choices>(() => ({ closed: new Set(), opened: new Set(), pinned: new Set(), hidden: new Set(), sampledCalls: new Set(), model: null }));
  return {
    choices,
    change: (change) =>
      set((old) => {
        const next: Choices = { closed: new Set(old.closed), opened: new Set(old.opened), pinned: new Set(old.pinned), hidden: new Set(old.hidden), sampledCalls: new Set(old.sampledCalls), model: old.model };
        change(next);
        return next;
      }),
  };
}

export function toggle(set: Set<string>, id: string): void {
  if (!set.delete(id)) set.add(id);
}

interface LabelProps {
  lane: Lane;
  state: State;
  loader: Loader;
  loaded: Signal<number>;
  focused: Signal<string>;
  choosing: Choosing;
  width: number;
  /** Tab stops at one label; arrows go on from there. */
  isStop: boolean;
  pickFirst: () => void;
}

/** Moves to another label. False: this key does not. */
function moveFocus(from: HTMLElement, key: string): boolean {
  const to = { ArrowDown: from.nextElementSibling, ArrowUp: from.previousElementSibling, Home: from.parentElement?.firstElementChild, End: from.parentElement?.lastElementChild }[key];
  if (to === undefined) return false;
  (to as HTMLElement | null)?.focus();
  return true;
}

function Label({ lane, state, loader, loaded, focused, choosing, width, isStop, pickFirst }: LabelProps) {
  const { track } = lane;
  const isCounter = track.kind === 'counter';
  const openOrClose = () =>
    choosing.change((choices) => {
      if (lane.open) {
        choices.opened.delete(track.id);
        choices.closed.add(track.id);
      } else {
        choices.closed.delete(track.id);
        choices.opened.add(track.id);
      }
    });
  return (
    <div
      class={`lane-label kind-${track.kind}${lane.group ? ' group' : ''}`}
      style={{ top: `${lane.top}px`, height: `${lane.height}px`, paddingLeft: `${8 + lane.indent * 12}px` }}
      data-track={track.id}
      tabIndex={isStop ? 0 : -1}
      role="treeitem"
      aria-expanded={lane.hasChildren ? lane.open : undefined}
      onFocus={() => focused.set(track.id)}
      onKeyDown={(event) => {
        const own = event.target === event.currentTarget && !event.altKey && !event.ctrlKey && !event.metaKey;
        if (!own) return;
        if (lane.hasChildren && event.key === (lane.open ? 'ArrowLeft' : 'ArrowRight')) openOrClose();
        else if (event.key === 'Enter') pickFirst();
        else if (!moveFocus(event.currentTarget, event.key)) return;
        event.stopPropagation();
        event.preventDefault();
      }}
    >
      {lane.hasChildren ? (
        <button class="fold" tabIndex={-1} aria-hidden="true" onClick={openOrClose}>
          {lane.open ? '▾' : '▸'}
        </button>
      ) : (
        <span class="fold" />
      )}
      <span class="lane-name" title={[track.label, track.sub].filter(Boolean).join(' · ')}>
        <b>{track.label}</b> <span class="sub">{track.sub}</span>
      </span>
      {isCounter && <CounterValue lane={lane} state={state} loader={loader} loaded={loaded} width={width} />}
      {track.samples > 0 && (
        <button class={choosing.choices.sampledCalls.has(track.id) ? 'samples on' : 'samples'} title="Sampled calls (G)" onClick={() => choosing.change((choices) => toggle(choices.sampledCalls, track.id))}>
          samples
        </button>
      )}
      <span class="lane-menu">
        <button title={lane.pinned ? 'Unpin (P)' : 'Pin to the top (P)'} aria-label="Pin" onClick={() => choosing.change((choices) => toggle(choices.pinned, track.id))}>
          {lane.pinned ? '◆' : '◇'}
        </button>
        <button title="Hide (H)" aria-label="Hide" onClick={() => choosing.change((choices) => choices.hidden.add(track.id))}>
          ×
        </button>
      </span>
    </div>
  );
}

function CounterValue({ lane, state, loader, loaded, width }: { lane: Lane; state: State; loader: Loader; loaded: Signal<number>; width: number }) {
  useSignal(loaded);
  const cursor = useSignal(state.cursor);
  const view = useSignal(state.view);
  const at = cursor ?? view.to;
  let sum = 0;
  let known = false;
  for (const track of lane.members.length ? lane.members : [lane.track]) {
    const values = loader.get('values', track.id, view, width) as Values | null;
    const value = values && valueAt(values, at);
    if (value !== null && value !== undefined) {
      sum += value;
      known = true;
    }
  }
  if (!known) return <span class="lane-value">–</span>;
  if (lane.members.length > 1)
    return (
      <span class="lane-value">
        <b>{(sum / 100).toFixed(1)}</b> / {lane.members.length}
      </span>
    );
  return (
    <span class="lane-value">
      <b>{quantity(sum, lane.track.unit)}</b>
    </span>
  );
}

const SAMPLED_CALL_ROWS = 48;

/** How deep the sampled calls of a thread go, as far as they are known, and how many outer frames tell nothing here. */
function sampledCallDepth(loader: Loader, state: State, width: number) {
  return (id: string): { rows: number; skip: number } => {
    const sampledCalls = loader.get('sampledCalls', id, state.view.value, width) as Slices | null;
    if (!sampledCalls) return { rows: 4, skip: 0 };
    const skip = Math.max(0, commonRows(sampledCalls) - 1);
    return { rows: Math.min(Math.max(sampledCalls.rows - skip, 1), SAMPLED_CALL_ROWS), skip };
  };
}

function Hover({ state, pick }: { state: State; pick: Signal<{ x: number; y: number; name: string; time: string; sub: string } | null> }) {
  const shown = useSignal(pick);
  useSignal(state.theme);
  return shown ? (
    <div class="hover" style={{ left: `${Math.min(shown.x + 14, window.innerWidth - 280)}px`, top: `${shown.y + 16}px` }}>
      <b>{shown.name}</b> {shown.time}
      {shown.sub && <div class="sub">{shown.sub}</div>}
    </div>
  ) : null;
}

export function Timeline({ state }: { state: State }) {
  const theme = useSignal(state.theme);
  const model = useSignal(state.model);
  const choosing = useChoices();
  const [version, setVersion] = useState(0);
  const [width, setWidth] = useState(1000);
  const [height, setHeight] = useState(400);
  const [functions, setFunctions] = useState<ProgramFunction[] | null>(null);
  const [busy, setBusy] = useState<Busy | null>(null);
  const [marks, setMarks] = useState<number[]>([]);
  const scroller = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const focused = useMemo(() => signal(''), []);
  const hovered = useMemo(() => signal<{ x: number; y: number; name: string; time: string; sub: string } | null>(null), []);
  const motion = useMemo(() => new Motion(state), [state]);
  const arrows = useMemo(() => new FlowArrows(state.source), [state]);
  const toShow = useRef<SliceDetails | null>(null);
  const stop = useSignal(focused);
  const drawAgain = useRef<() => void>(() => undefined);
  const hasSampledCalls = useRef(false);
  const loaded = useMemo(() => signal(0), [state]);
  hasSampledCalls.current = choosing.choices.sampledCalls.size > 0;
  const loader = useMemo(() => {
    let waiting = 0;
    // the picture at once; labels, and heights that depend on the data, a few times a second
    return new Loader(state.source, state.length, () => {
      drawAgain.current();
      if (waiting) return;
      waiting = window.setTimeout(() => {
        waiting = 0;
        loaded.update((n) => n + 1);
        if (hasSampledCalls.current || loaded.value === 1) setVersion((n) => n + 1);
      }, LABELS_MS);
    });
  }, [state]);
  const palette = useMemo(() => new Palette(getComputedStyle(document.documentElement), document.createElement('canvas').getContext('2d')), [theme, version === 0]);
  const arranged = useMemo(() => arrange(state.meta.tracks), [state]);
  const layout: Layout = useMemo(() => layOut(arranged, { ...choosing.choices, model }, sampledCallDepth(loader, state, width)), [choosing.choices, model, version, width]);

  const tracks = useCanvas((context, w, h) => paint(context, { state, loader, layout, palette, functions, arrows, width: w, height: h, scroll: scroller.current?.scrollTop ?? 0 }));
  const ruler = useCanvas((context, w, h) => {
    context.fillStyle = palette.bg;
    context.fillRect(0, 0, w, h);
    drawMinimap(context, busy, state.view.value, state.length, marks, 0, 2, w, MAP - 4, palette);
    drawRuler(context, state.view.value, 0, MAP, w, RULER, palette);
    if (state.range.value) {
      context.save();
      context.translate(0, MAP);
      drawRange(context, state.range.value, state.view.value, 0, w, RULER, palette);
      context.restore();
    }
    if (state.cursor.value !== null) drawCursor(context, state, w, palette);
  });
  const redraw = () => {
    tracks.ask();
    ruler.ask();
  };
  drawAgain.current = tracks.ask;

  useEffect(() => {
    const stops = [state.view, state.range, state.selection, state.cursor, state.hits, state.model].map((part) => part.watch(redraw));
    return () => stops.forEach((stop) => stop());
  }, [state]);
  useEffect(() => {
    const choose = () => arrows.choose(state.selection.value?.slice ?? null);
    const look = () => arrows.look(state.flows.value ? state.view.value : null);
    const stops = [state.selection.watch(choose), state.flows.watch(look), state.view.watch(look), arrows.chosen.watch(tracks.ask), arrows.inSight.watch(tracks.ask)];
    choose();
    look();
    return () => (stops.forEach((stop) => stop()), arrows.look(null));
  }, [state]);
  useEffect(redraw, [layout, palette, busy, functions, marks, width, height, version]);
  useEffect(() => {
    void state.source.busy(800).then(setBusy, () => undefined);
    if (state.meta.has.samples) void state.source.functions().then(setFunctions, () => undefined);
    return () => loader.forget();
  }, [state]);
  useEffect(() => {
    const find = () => {
      if (!state.hits.value.length) setMarks([]);
      else void state.source.marks(state.hits.value, Math.round(width)).then((answer) => setMarks(answer.marks), () => undefined);
    };
    find();
    return state.hits.watch(find);
  }, [state, width]);
  useLayoutEffect(() => {
    // no higher than what is in sight, or it would not stay where its rows are drawn for
    const measure = () => {
      setWidth(Math.max(50, area.current?.clientWidth ?? 1000));
      setHeight(Math.max(20, scroller.current?.clientHeight ?? 400));
    };
    const observer = new ResizeObserver(() => {
      measure();
      redraw();
    });
    measure();
    if (area.current) observer.observe(area.current);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);

  /** Scrolls to what was selected, and opens what it is folded into, unless it can be seen. */
  const bring = (slice: SliceDetails, mayUnfold = true) => {
    const box = scroller.current;
    const ids = tracksOf(slice, state.meta.tracks);
    const where = box && ids.length ? scrollFor(layout, ids, slice.depth, box.scrollTop, box.clientHeight) : 'here';
    if (typeof where === 'number') box!.scrollTop = where;
    if (where !== 'folded' || !mayUnfold) return;
    toShow.current = slice;
    choosing.change((choices) => unfold(choices, state.meta.tracks, ids[0]!));
  };
  useEffect(() => {
    const slice = toShow.current;
    toShow.current = null;
    if (slice) bring(slice, false);
  }, [layout]);

  const pickFirst = (lane: Lane) => {
    const view = state.view.value;
    const slices = lane.rows > 0 ? (loader.get('slices', lane.track.id, view, width) as Slices | null) : null;
    let first = -1;
    for (let i = 0; slices && i < slices.count; i++) {
      const inside = slices.row[i] === 0 && slices.start[i]! + slices.duration[i]! > view.from && slices.start[i]! < view.to;
      if (inside && (first < 0 || (slices.start[first]! < view.from && slices.start[i]! >= view.from))) first = i;
    }
    if (slices && first >= 0) state.selection.set({ slice: slices.id[first]! });
    else state.say('This track has nothing to select here.');
  };

  const target: Target = useMemo(() => {
    const find = (x: number, y: number) => {
      const at = y + (scroller.current?.scrollTop ?? 0);
      const lane = laneAt(layout, at);
      if (!lane || lane.rows === 0) return null;
      const inside = at - lane.top;
      const view = state.view.value;
      if (lane.sampledCallTop >= 0 && inside >= lane.sampledCallTop) {
        const sampledCalls = loader.get('sampledCalls', lane.track.id, view, width) as Slices | null;
        const i = sampledCalls ? sliceAt(sampledCalls, view, width, x, lane.sampledCallSkip + Math.floor((inside - lane.sampledCallTop) / (SAMPLED_CALL + GAP))) : -1;
        return sampledCalls && i >= 0 ? { lane, slices: sampledCalls, i, sampled: true } : null;
      }
      const row = Math.floor((inside - lane.sliceTop) / (SLICE + GAP));
      const slices = loader.get('slices', lane.track.id, view, width) as Slices | null;
      const i = slices && row >= 0 && row < lane.rows ? sliceAt(slices, view, width, x, row) : -1;
      return slices && i >= 0 ? { lane, slices, i, sampled: false } : null;
    };
    return {
      find,
      pick(x, y) {
        const hit = find(x, y);
        if (!hit || hit.sampled) return null;
        return { slice: hit.slices.id[hit.i]!, start: hit.slices.start[hit.i]!, duration: hit.slices.duration[hit.i]!, merged: hit.slices.merged[hit.i]! };
      },
      edges(x, y) {
        const hit = find(x, y);
        return hit ? [hit.slices.start[hit.i]!, hit.slices.start[hit.i]! + hit.slices.duration[hit.i]!] : [];
      },
    } as Target & { find: typeof find };
  }, [layout, loader, width]);

  useEffect(() => {
    const canvas = tracks.canvas.current;
    const top = ruler.canvas.current;
    if (!canvas || !top) return;
    const stopTracks = handlePointer(canvas, state, motion, target, false);
    const stopRuler = handlePointer(top, state, motion, target, true);
    const move = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      const hit = event.buttons ? null : (target as Target & { find: (x: number, y: number) => { lane: Lane; slices: Slices; i: number; sampled: boolean } | null }).find(event.clientX - box.left, event.clientY - box.top);
      canvas.style.cursor = hit ? 'pointer' : 'default';
      if (!hit) {
        hovered.set(null);
        return;
      }
      const { slices, i, sampled } = hit;
      const at = state.meta.locations[slices.location[i]!];
      const many = slices.merged[i]! > 1;
      hovered.set({
        x: event.clientX,
        y: event.clientY,
        name: sampled ? functions?.[slices.location[i]!]?.name ?? '' : at?.name ?? '',
        time: many ? `${count(slices.merged[i]!)} ${sampled ? 'samples' : 'events'} in ${duration(slices.duration[i]!)}` : duration(slices.duration[i]!),
        sub: sampled ? functions?.[slices.location[i]!]?.module ?? '' : at && at.model >= 0 ? state.meta.models.find((m) => m.id === at.model)?.name ?? '' : '',
      });
    };
    const leave = () => hovered.set(null);
    canvas.addEventListener('pointermove', move);
    canvas.addEventListener('pointerleave', leave);
    return () => {
      stopTracks();
      stopRuler();
      canvas.removeEventListener('pointermove', move);
      canvas.removeEventListener('pointerleave', leave);
    };
  }, [target, motion, functions]);

  useTimelineKeys({ state, motion, focused, arrows, change: choosing.change, width });

  return (
    <main class="timeline">
      <Toolbar state={state} arrows={arrows} hasFlows={state.meta.has.flows === true} hidden={choosing.choices.hidden.size} showAll={() => choosing.change((choices) => choices.hidden.clear())} />
      <div class="axis">
        <div class="axis-label">
          <div style={{ height: `${MAP}px` }}>
            <span>Whole trace</span>
            <b>{duration(state.length)}</b>
          </div>
          <div style={{ height: `${RULER}px` }}>
            <ViewWords state={state} />
            <kbd title="Fit everything">f</kbd>
          </div>
        </div>
        <canvas
          ref={ruler.canvas}
          style={{ height: `${MAP + RULER}px` }}
          aria-label="Map of the whole trace, and the ruler; M measures the selection"
          onDblClick={() => motion.go({ from: 0, to: state.length })}
          onPointerDown={(event) => {
            const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
            if (event.clientY - box.top > MAP) return;
            event.stopImmediatePropagation();
            const at = toTime({ from: 0, to: state.length }, event.clientX - box.left, box.width);
            const half = span(state.view.value) / 2;
            motion.go({ from: at - half, to: at + half });
          }}
        />
      </div>
      <div class="lanes" ref={scroller} onScroll={redraw}>
        <div class="lanes-inner" style={{ height: `${layout.height}px` }}>
          <div class="lane-labels" role="tree" aria-label="Tracks">
            {layout.lanes.map((lane) => (
              <Label key={lane.track.id} lane={lane} state={state} loader={loader} loaded={loaded} focused={focused} choosing={choosing} width={width} isStop={lane === (layout.lanes.find((one) => one.track.id === stop) ?? layout.lanes[0])} pickFirst={() => pickFirst(lane)} />
            ))}
          </div>
          <div class="lane-area" ref={area}>
            <canvas ref={tracks.canvas} class="tracks" style={{ height: `${height}px` }} aria-label="Tracks over time; the details of what is selected are below" />
          </div>
        </div>
      </div>
      <Details state={state} arrows={arrows} onShown={bring} />
      <Hover state={state} pick={hovered} />
    </main>
  );
}

function ViewWords({ state }: { state: State }) {
  const view = useSignal(state.view);
  return (
    <span>
      View {moment(Math.max(view.from, 0), span(view) / 100)} – {moment(Math.min(view.to, state.length), span(view) / 100)}
    </span>
  );
}

function drawCursor(context: CanvasRenderingContext2D, state: State, width: number, palette: Palette): void {
  const view = state.view.value;
  const text = moment(state.cursor.value ?? 0, span(view) / 1000);
  context.font = `600 11px ${palette.font}`;
  const size = context.measureText(text).width + 10;
  const x = Math.min(Math.max((((state.cursor.value ?? 0) - view.from) / span(view)) * width - size / 2, 0), width - size);
  context.fillStyle = palette.ink;
  context.fillRect(x, MAP + 2, size, RULER - 5);
  context.fillStyle = palette.bg;
  context.textBaseline = 'middle';
  context.fillText(text, x + 5, MAP + RULER / 2);
}
