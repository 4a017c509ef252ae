// SPDX-License-Identifier: Apache-2.0
// A canvas of a chart: as large as its place, sharp, drawn again when its size, its data or the theme changes. Its numbers stand beside it for screen readers.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Palette } from '../draw/palette.ts';
import { PAINT_NOW } from './paper.ts';

let shown: { theme: string; palette: Palette } | null = null;

/** The colours of the theme that the document has now. */
export function currentPalette(): Palette {
  const theme = document.documentElement.dataset['theme'] ?? 'light';
  if (shown?.theme !== theme) shown = { theme, palette: new Palette(getComputedStyle(document.documentElement), document.createElement('canvas').getContext('2d')) };
  return shown.palette;
}

export interface ChartProps {
  draw(context: CanvasRenderingContext2D, width: number, height: number, palette: Palette): void;
  height: number | string;
  label: string;
  /** Drawn again when one of these changes. */
  keys: unknown[];
  class?: string;
  focusable?: boolean;
  onMove?: (x: number, y: number, event: PointerEvent) => void;
  onLeave?: () => void;
  onPick?: (x: number, y: number, event: MouseEvent) => void;
  onTwice?: (x: number, y: number) => void;
  onKey?: (event: KeyboardEvent) => void;
  onSize?: (width: number, height: number) => void;
  children?: ComponentChildren; // the text twin
}

export function Chart(props: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  const pending = useRef(0);
  latest.current = props;

  const paintNow = () => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = element;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.globalAlpha = 1;
    latest.current.draw(context, width, height, currentPalette());
  };
  const paint = () => {
    if (pending.current) return;
    pending.current = requestAnimationFrame(() => {
      pending.current = 0;
      paintNow();
    });
  };
  useEffect(paint, props.keys);
  useEffect(() => {
    const element = canvas.current!;
    const size = new ResizeObserver(() => {
      latest.current.onSize?.(element.clientWidth, element.clientHeight);
      paint();
    });
    const theme = new MutationObserver(paint);
    document.addEventListener(PAINT_NOW, paintNow);
    size.observe(element);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      document.removeEventListener(PAINT_NOW, paintNow);
      size.disconnect();
      theme.disconnect();
      cancelAnimationFrame(pending.current);
    };
  }, []);

  const at = (event: MouseEvent, then: ((x: number, y: number, event: never) => void) | undefined) => {
    const box = canvas.current!.getBoundingClientRect();
    then?.(event.clientX - box.left, event.clientY - box.top, event as never);
  };
  const height = typeof props.height === 'number' ? `${props.height}px` : props.height;
  return (
    <>
      <canvas
        ref={canvas}
        class={`chart ${props.class ?? ''}`}
        style={{ height }}
        role="img"
        aria-label={props.label}
        tabIndex={props.focusable ? 0 : undefined}
        onPointerMove={(event) => at(event, props.onMove)}
        onPointerLeave={() => props.onLeave?.()}
        onClick={(event) => at(event, props.onPick)}
        onDblClick={(event) => at(event, props.onTwice)}
        onKeyDown={props.onKey}
      />
      {props.children && <div class="twin">{props.children}</div>}
    </>
  );
}

/** The numbers of a chart as a table that only screen readers meet. */
export function TwinTable({ title, head, rows }: { title: string; head: string[]; rows: (string | number)[][] }) {
  return (
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, j) => (
              <td key={j}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a pointer is over, in a small box that does not take the pointer. */
export function Tip({ at, children }: { at: { x: number; y: number } | null; children: ComponentChildren }) {
  if (!at) return null;
  const right = at.x > window.innerWidth - 340;
  return (
    <div class="hover" style={{ left: right ? 'auto' : `${at.x + 14}px`, right: right ? `${window.innerWidth - at.x + 10}px` : 'auto', top: `${Math.min(at.y + 16, window.innerHeight - 70)}px` }}>
      {children}
    </div>
  );
}
