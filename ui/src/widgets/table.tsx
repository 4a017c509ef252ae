// SPDX-License-Identifier: Apache-2.0
// A table of any length: only the rows on the screen are there. Heads sort; arrows walk, Enter opens.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clicked, sorted, type Key, type Order } from '../base/sort.ts';

export interface Column<R> {
  id: string;
  title: string;
  /** What it is sorted by; absent: it is not. */
  key?: (row: R) => Key;
  cell: (row: R) => ComponentChildren;
  number?: boolean;
  /** Of its key, for what is copied. */
  unit?: string;
  /** As in grid-template-columns. */
  width: string;
  /** Left out where the table is narrower than this. */
  from?: number;
  hint?: string;
}

export interface TableProps<R> {
  label: string;
  rows: readonly R[];
  columns: Column<R>[];
  order: Order;
  onOrder: (order: Order) => void;
  onOpen?: (row: R) => void;
  isChosen?: (row: R) => boolean;
  empty?: ComponentChildren;
  class?: string;
}

/** Rows as tables of other programs take them: tabs between, numbers as they are, units in the heads. */
export function tableText<R>(columns: Column<R>[], rows: readonly R[], order: Order): string {
  const kept = columns.filter((column) => column.key);
  const by = columns.find((column) => column.id === order.column)?.key;
  const line = (cells: Key[]): string => cells.map((cell) => String(cell ?? '').replace(/[\t\n]/g, ' ')).join('\t');
  return [line(kept.map((column) => column.title + (column.unit ? ` (${column.unit})` : ''))), ...(by ? sorted(rows, by, order.down) : rows).map((row) => line(kept.map((column) => column.key!(row))))].join('\n');
}

export function CopyTable<R>({ columns, rows, order, say }: { columns: Column<R>[]; rows: readonly R[]; order: Order; say: (words: string) => void }) {
  const copy = () =>
    navigator.clipboard.writeText(tableText(columns, rows, order)).then(
      () => say(`${rows.length} rows copied. Paste them into a spreadsheet.`),
      () => say('This browser does not allow the page to copy.'),
    );
  return (
    <button class="button small" title="All rows, with every column and digit" disabled={!rows.length} onClick={() => void copy()}>
      Copy table
    </button>
  );
}

const ROW = 24;
const MORE = 8; // rows above and below what is seen

export function VirtualTable<R>(props: TableProps<R>) {
  const { columns, order } = props;
  const body = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 1200, height: 600 });
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const by = columns.find((column) => column.id === order.column);
  const rows = useMemo(() => (by?.key ? sorted(props.rows, by.key, order.down) : [...props.rows]), [props.rows, order.column, order.down]);
  const seen = columns.filter((column) => !column.from || size.width >= column.from);
  const template = seen.map((column) => column.width).join(' ');

  useLayoutEffect(() => {
    const element = body.current!;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (body.current) body.current.scrollTop = 0;
    setTop(0);
    setActive(0);
  }, [props.rows, order.column, order.down]);

  const first = Math.max(0, Math.floor(top / ROW) - MORE);
  const last = Math.min(rows.length, Math.ceil((top + size.height) / ROW) + MORE);
  const walk = (to: number) => {
    const next = Math.min(Math.max(to, 0), rows.length - 1);
    const element = body.current!;
    setActive(next);
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW;
    else if ((next + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (next + 1) * ROW - element.clientHeight;
  };
  const press = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(size.height / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1 };
    if (event.key in steps) walk(steps[event.key]!);
    else if (event.key === 'Enter' && rows[active]) props.onOpen?.(rows[active]!);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class={`vtable ${props.class ?? ''}`} role="grid" aria-label={props.label} aria-rowcount={rows.length + 1}>
      <div class="vtable-head" role="row" style={{ gridTemplateColumns: template }}>
        {seen.map((column) => (
          <span key={column.id} role="columnheader" class={column.number ? 'num' : ''} title={column.hint} aria-sort={order.column === column.id ? (order.down ? 'descending' : 'ascending') : undefined}>
            {column.key ? (
              <button onClick={() => props.onOrder(clicked(order, column.id, column.number === true))}>
                {column.title}
                {order.column === column.id ? (order.down ? ' ▾' : ' ▴') : ''}
              </button>
            ) : (
              column.title
            )}
          </span>
        ))}
      </div>
      <div class="vtable-body" ref={body} tabIndex={0} aria-label={`${props.label}: rows`} onScroll={(event) => setTop((event.target as HTMLElement).scrollTop)} onKeyDown={press}>
        {rows.length === 0 && <div class="vtable-none">{props.empty ?? 'Nothing here.'}</div>}
        <div style={{ height: `${rows.length * ROW}px`, position: 'relative' }}>
          {rows.slice(first, last).map((row, i) => (
            <div
              key={first + i}
              role="row"
              aria-rowindex={first + i + 2}
              class={`vtable-row${props.onOpen ? ' opens' : ''}${props.isChosen?.(row) ? ' sel' : ''}${first + i === active ? ' active' : ''}`}
              style={{ top: `${(first + i) * ROW}px`, gridTemplateColumns: template }}
              onClick={() => {
                setActive(first + i);
                props.onOpen?.(row);
              }}
            >
              {seen.map((column) => (
                <span key={column.id} role="gridcell" class={column.number ? 'num' : ''}>
                  {column.cell(row)}
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
