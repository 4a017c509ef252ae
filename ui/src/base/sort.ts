// SPDX-License-Identifier: Apache-2.0
// The order of tables: numbers by size, texts by letters; what is not known comes last in both directions.

export type Key = number | string | null | undefined;

export interface Order {
  column: string;
  down: boolean;
}

const unknown = (key: Key): boolean => key === null || key === undefined || (typeof key === 'number' && Number.isNaN(key));

export function compare(a: Key, b: Key, down: boolean): number {
  const none = Number(unknown(a)) - Number(unknown(b));
  if (none || unknown(a)) return none;
  const way = typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  return down ? -way : way;
}

/** Sorted anew; equal rows keep their order. Keys are taken once: tables may have 100,000 rows. */
export function sorted<T>(rows: readonly T[], key: (row: T) => Key, down: boolean): T[] {
  const keys = rows.map(key);
  const order = rows.map((_, i) => i);
  order.sort((i, j) => compare(keys[i], keys[j], down) || i - j);
  return order.map((i) => rows[i]!);
}

/** A click on a column's head: numbers begin with the largest, texts with A; a second click turns it over. */
export function clicked(order: Order, column: string, isNumber: boolean): Order {
  return order.column === column ? { column, down: !order.down } : { column, down: isNumber };
}
