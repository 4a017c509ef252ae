// SPDX-License-Identifier: Apache-2.0
// What a comparison says in words: pure functions.
import type { Diff, DiffRow, Verdict } from '../../api/diff.ts';
import type { TraceEntry } from '../../api/types.ts';
import { count, duration } from '../../base/format.ts';
import { categoryName, plural } from '../../base/words.ts';

export const SIGNS: Record<Verdict, { sign: string; chip: string }> = {
  REGRESSED: { sign: '▲', chip: 'solid' },
  IMPROVED: { sign: '▼', chip: 'good' },
  SAME: { sign: '=', chip: 'plain' },
  UNSURE: { sign: '?', chip: 'unsure' },
  NEW: { sign: '+', chip: 'mute' },
  GONE: { sign: '−', chip: 'mute' },
};

const share = (change: number): string => {
  const value = Math.abs(change) * 100;
  return `${value.toFixed(value >= 9.95 ? 0 : 1)}\u2009%`;
};

/** "+0.05 ms", "−2.2 ms" */
export function difference(row: DiffRow): string {
  const by = row.b.median_ns - row.a.median_ns;
  return by === 0 ? '0' : `${by < 0 ? '−' : '+'}${duration(Math.abs(by))}`;
}

function subject(row: DiffRow, models: number, inside = false): string {
  const name = row.category ? categoryName(row.category) : row.name;
  return row.category ? `${inside ? name.toLowerCase() : name}${models > 1 ? ` of ${row.model}` : ''}` : name;
}

/** How many more there would have to be for a verdict; why there can be none. Empty: there is one. */
export function needs(row: DiffRow, floor_ns: number): string {
  if (row.verdict !== 'UNSURE') return '';
  if (row.too_fine) return `differs by less than ${duration(floor_ns)}`;
  return row.more ? `needs ${row.change === null ? '' : 'about '}${count(row.more)} more` : 'too few';
}

/** When most locations changed alike, it is hardly the program. Empty: they did not. */
export function inCommon(diff: Diff): string {
  if (diff.rows.filter((row) => row.change !== null).length < 4 || !(Math.abs(diff.common_change) > diff.threshold)) return '';
  return `Half of all locations take ${share(diff.common_change)} ${diff.common_change > 0 ? 'longer' : 'less'}, or more: the machine or the whole build may have changed.`;
}

/** The trace that another one is most likely to be compared with: whose command has most words in common, next to it in the list. */
export function partner(traces: TraceEntry[], id: number): number {
  const own = traces.find((trace) => trace.id === id);
  const words = new Set(own?.title.split(' '));
  const alike = (trace: TraceEntry): number => new Set(trace.title.split(' ').filter((word) => words.has(word))).size;
  const others = traces.filter((trace) => trace.id !== id).sort((x, y) => alike(y) - alike(x) || Math.abs(x.id - id) - Math.abs(y.id - id));
  return others[0]?.id ?? id;
}

/** What became of the inference that took most of the time, and what else is worse. */
export function headline(diff: Diff): { title: string; more: string } {
  const ml = diff.rows.filter((row) => row.kind === 'ml');
  const models = new Set(ml.map((row) => row.model)).size;
  const judged = (ml.length ? ml : diff.rows).filter((row) => row.change !== null).sort((x, y) => y.a.total_ns - x.a.total_ns);
  const main = judged.find((row) => row.category === 'inference') ?? judged[0];
  const worse = diff.rows.filter((row) => row.verdict === 'REGRESSED' && row !== main);
  const better = diff.rows.filter((row) => row.verdict === 'IMPROVED' && row !== main);
  const list = (rows: DiffRow[]): string =>
    rows
      .slice()
      .sort((x, y) => Math.abs(y.change ?? 0) * y.b.total_ns - Math.abs(x.change ?? 0) * x.b.total_ns)
      .slice(0, 2)
      .map((row) => `${subject(row, models)} takes ${share(row.change ?? 0)} ${(row.change ?? 0) > 0 ? 'longer' : 'less'}`)
      .join(', ');
  if (!main) return { title: 'Nothing occurs often enough in both recordings to compare.', more: '' };
  const said: Partial<Record<Verdict, string>> = {
    IMPROVED: `${subject(main, models)} is ${share(main.change ?? 0)} faster`,
    REGRESSED: `${subject(main, models)} is ${share(main.change ?? 0)} slower`,
    SAME: `${subject(main, models)} takes as long as before`,
    UNSURE: `Whether ${subject(main, models, true)} changed is not certain yet`,
  };
  const first = said[main.verdict] ?? `${subject(main, models)} changed`;
  const slower = `${worse.length} other ${plural(worse.length, 'location is', 'locations are')} slower`;
  const faster = `${better.length} ${plural(better.length, 'location is', 'locations are')} faster`;
  const rest = worse.length ? (main.verdict === 'REGRESSED' ? `, and ${slower} too` : `, but ${slower}`) : main.verdict === 'SAME' && better.length ? `, and ${faster}` : '';
  const title = `${first}${rest}.`;
  const notes = [worse.length ? `${list(worse)}.` : '', better.length ? `${list(better)}.` : '', main.verdict === 'UNSURE' && main.more ? `About ${count(main.more)} more on each side would decide.` : ''];
  return { title, more: notes.filter(Boolean).join(' ') };
}

/** Rows of a kind, those that changed most (in time) first. */
export function changedMost(rows: DiffRow[], most: number): DiffRow[] {
  const weight = (row: DiffRow): number => {
    if (row.verdict === 'NEW') return row.b.total_ns;
    if (row.verdict === 'GONE') return row.a.total_ns;
    return Math.abs(row.b.median_ns - row.a.median_ns) * row.a.count * (row.verdict === 'SAME' ? 0.01 : row.verdict === 'UNSURE' ? 0.1 : 1);
  };
  return rows.slice().sort((x, y) => weight(y) - weight(x)).slice(0, most);
}
