// SPDX-License-Identifier: Apache-2.0
// The one sentence on top of the summary: what is normal, then the worst thing, then the next one. Built from findings; its numbers are those below.
import { duration } from './format.ts';

export interface Usual {
  model: string;
  median_ms: number | null;
  p90_ms: number | null;
  count: number;
  total_ms: number;
}

const WORDS = 25;
const STEADY = 1.25; // p90 within a quarter of the median

/** A number with its unit is one word, however it is written. */
export function words(text: string): number {
  return text.replace(/(\d)[\u2009 ](ns|[uµ]s|ms|s|min|h|%|[kMGT]?B|MiB|GiB|CPUs?|cores?)\b|(\d)[\u2009 ]%/g, '$1$2').split(/\s+/).filter(Boolean).length;
}

function usual(models: Usual[]): string {
  const known = models.filter((model) => model.median_ms !== null && model.count > 0).sort((a, b) => b.total_ms - a.total_ms);
  const first = known[0];
  if (!first) return '';
  const sum = known.reduce((total, model) => total + model.total_ms, 0);
  const time = duration(first.median_ms! * 1e6);
  const steady = first.count >= 10 && first.p90_ms !== null && first.p90_ms <= first.median_ms! * STEADY;
  const whose = known.length > 1 && first.total_ms < sum * 0.8 ? `${first.model} ` : '';
  if (steady) return whose ? `${whose}is steady at ${time}` : `Steady at ${time}`;
  return whose ? `${whose}takes ${time} at the median` : `${first.count > 1 ? 'Median' : 'One inference,'} ${time}`;
}

/** `titles`: of findings that matter, worst first; `small`: how many others there are. */
export function verdict(models: Usual[], titles: string[], small = 0): string {
  const normal = usual(models);
  const low = titles.map((title) => (/^[A-Z][a-z ]/.test(title) ? title[0]!.toLowerCase() + title.slice(1) : title));
  if (!low.length) return normal ? `${normal}; ${small ? 'only minor findings' : 'no problems found'}.` : 'No inference was recorded.';
  let sentence = normal ? `${normal}, but ${low[0]}` : low[0]![0]!.toUpperCase() + low[0]!.slice(1);
  // the same of another model would say it twice
  const beginning = (title: string) => title.split(' ').slice(0, 2).join(' ');
  const other = low.slice(1).find((title) => beginning(title) !== beginning(low[0]!));
  const second = [other, other?.split(',')[0]].find((title) => title && words(`${sentence}, and ${title}`) <= WORDS);
  if (second) sentence += `, and ${second}`;
  return `${sentence}.`;
}

/** What a finding costs: a number and of what; empty if it has no such number. */
export function cost(id: string, numbers: Record<string, number | null>): { amount: string; of: string } {
  const get = (key: string) => (typeof numbers[key] === 'number' ? (numbers[key] as number) : null);
  const ms = (key: string, of: string) => (get(key) === null ? null : { amount: duration(get(key)! * 1e6), of });
  const part = (key: string, of: string) => (get(key) === null ? null : { amount: `${(get(key)! * 100).toFixed(0)}\u2009%`, of });
  const number = (key: string, unit: string, of: string, digits = 1) => (get(key) === null ? null : { amount: `${Number(get(key)!.toFixed(digits))}\u2009${unit}`.trim(), of });
  const known: Record<string, ({ amount: string; of: string } | null)[]> = {
    'cold-start': [ms('specialization_ms', 'per start'), ms('load_ms', 'per start')],
    'run-queue-wait': [ms('wait_ms', 'per inference')],
    spinning: [part('share', 'of the CPU time')],
    'noisy-host': [number('others_cpus', 'CPUs', 'used by others', 2)],
    'noisy-neighbour': [number('cpu_pct', '%', 'of a CPU')],
    'repeated-load': [ms('saved_ms', 'in all'), ms('total_ms', 'in all')],
    'slow-first-run': [ms('lost_ms', 'at the start'), ms('first_ms', 'the first one')],
    reshaping: [ms('lost_ms', 'in all'), ms('total_ms', 'in all')],
    'setup-heavy': [ms('setup_ms', 'per inference')],
    'host-bound': [ms('gap_ms', 'per inference')],
    'many-small-runs': [ms('gap_ms', 'between two')],
    'uneven-latency': [number('ratio', '×', 'the median at p99')],
    oversubscription: [ms('over_ms', 'in all'), part('share', 'of the time')],
    'quantized-slower': [ms('conversion_ms', 'converting'), ms('quantized_ms', 'per inference')],
    'memory-growth': [number('grown_mb', 'MB', 'grown')],
    'memory-peak-in-load': [number('peak_mb', 'MB', 'at the peak')],
    'heap-churn': [number('mb_per_inference', 'MB', 'per inference')],
    'page-faults': [number('faults_per_inference', 'faults', 'per inference', 0), number('major_faults_per_inference', 'reads', 'per inference')],
    'dropped-events': [number('dropped', 'events', 'lost', 0)],
    'failed-runs': [number('failed', 'failed', '', 0)],
    throttled: [ms('stopped_ms', 'stopped'), part('share', 'of the time')],
  };
  return known[id]?.find((entry) => entry !== null) ?? part('share', '') ?? { amount: '', of: '' };
}
