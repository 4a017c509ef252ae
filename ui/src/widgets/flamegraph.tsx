// SPDX-License-Identifier: Apache-2.0
// A flame graph that can be walked through: a click zooms into a function, a double click or Shift + Enter opens its source.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Flame } from '../api/types.ts';
import { count, duration, percent } from '../base/format.ts';
import { shortName } from '../base/words.ts';
import { drawFlame, flameAt, flameRows, flameStep, layFlame, ROW, type FlameView } from '../draw/flame.ts';
import { Chart, Tip, TwinTable } from './canvas.tsx';

export interface FlameGraphProps {
  flame: Flame;
  search: string;
  functionId: number | null;
  onChoose?: (functionId: number, name: string) => void;
  onOpen: (functionId: number) => void;
  label: string;
}

const TWIN_ROWS = 30;

export function FlameGraph({ flame, search, functionId, onChoose, onOpen, label }: FlameGraphProps) {
  const layout = useMemo(() => layFlame(flame.nodes), [flame]);
  const [zoomed, zoom] = useState(-1);
  const [chosen, choose] = useState(-1);
  const [hovered, hover] = useState(-1);
  const [tip, setTip] = useState<{ x: number; y: number } | null>(null);
  const [width, setWidth] = useState(800);
  const scroller = useRef<HTMLDivElement>(null);

  useEffect(() => {
    zoom(-1);
    choose(-1);
    hover(-1);
  }, [flame]);

  const text = search.toLowerCase();
  const view: FlameView = { layout, zoomed, chosen, hovered, functionId: functionId ?? -1, found: text ? (name) => name.toLowerCase().includes(text) : null, from: 0, width };
  const rows = useMemo(() => flameRows(view), [layout, zoomed, width]);
  const node = layout.nodes[hovered];

  /** Brings the row of a box into what is seen. */
  const reveal = (i: number) => {
    const top = layout.depth[i]! * ROW;
    const box = scroller.current;
    if (box && (top < box.scrollTop || top + ROW > box.scrollTop + box.clientHeight)) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  };
  // the function that was asked for is shown at its widest box
  useEffect(() => {
    if (functionId === null) return;
    let best = -1;
    layout.nodes.forEach((one, i) => one.f === functionId && (best < 0 || one.v > layout.nodes[best]!.v) && (best = i));
    if (best >= 0) reveal(best);
  }, [layout, functionId]);

  const pick = (i: number, into: boolean) => {
    choose(i);
    if (i < 0) return;
    if (into) zoom(i === zoomed ? layout.nodes[i]!.p : i);
    if (layout.nodes[i]!.f >= 0) onChoose?.(layout.nodes[i]!.f, layout.nodes[i]!.n);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key.startsWith('Arrow')) {
      const next = flameStep(layout, chosen, event.key);
      pick(next, false);
      if (next >= 0) reveal(next);
    } else if (event.key === 'Enter' && event.shiftKey) {
      if (chosen >= 0 && layout.nodes[chosen]!.f >= 0) onOpen(layout.nodes[chosen]!.f);
    } else if (event.key === 'Enter') pick(chosen, true);
    else if (event.key === 'Escape' || event.key === 'Backspace') zoom(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const twin = useMemo(() => [...layout.nodes].sort((a, b) => b.s - a.s).slice(0, TWIN_ROWS), [layout]);
  return (
    <div class="flame-scroll" ref={scroller}>
      <Chart
        height={Math.max(1, rows) * ROW}
        class="clickable"
        focusable
        label={`${label}. Arrow keys walk through it, Enter zooms, Shift and Enter open the source, Escape shows all.`}
        keys={[layout, zoomed, chosen, hovered, search, functionId, width, rows]}
        onSize={(w) => setWidth(w)}
        draw={(context, w, h, palette) => drawFlame(context, { ...view, width: w }, h, palette.style.getPropertyValue('--heat'), palette)}
        onMove={(x, y, event) => {
          hover(flameAt(view, x, y));
          setTip({ x: event.clientX, y: event.clientY });
        }}
        onLeave={() => (hover(-1), setTip(null))}
        onPick={(x, y) => pick(flameAt(view, x, y), true)}
        onTwice={(x, y) => {
          const i = flameAt(view, x, y);
          if (i >= 0 && layout.nodes[i]!.f >= 0) onOpen(layout.nodes[i]!.f);
        }}
        onKey={key}
      >
        <TwinTable
          title="Functions with most self samples"
          head={['function', 'itself', 'including callees']}
          rows={twin.map((one) => [one.n, percent(one.s / Math.max(flame.samples, 1)), percent(one.v / Math.max(flame.samples, 1))])}
        />
      </Chart>
      <Tip at={node ? tip : null}>
        {node && (
          <>
            <b>{shortName(node.n)}</b>
            <div>
              {percent(node.v / Math.max(flame.samples, 1))} · {flame.device ? duration(node.v) : `${count(node.v)} samples`} · itself {percent(node.s / Math.max(flame.samples, 1))}
            </div>
            {node.i > 0 && <div class="sub">{percent(node.i)} of it by a way that is not certain</div>}
          </>
        )}
      </Tip>
    </div>
  );
}
