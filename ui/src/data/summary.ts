// SPDX-License-Identifier: Apache-2.0
// What the summary says, taken from the report: pure functions.
import { CATEGORIES, type EventCategory, type Events, type Report, type ReportModel } from '../api/report.ts';
import type { Instrument, Meta } from '../api/types.ts';
import { count, duration } from '../base/format.ts';
import { capital, plural } from '../base/words.ts';
import { verdict } from '../base/verdict.ts';

const sum = (model: ReportModel, what: (events: Events) => number, category: EventCategory): number => model.functions.reduce((total, one) => total + what(one.events[category]), 0);

/** The function of a model in which most inference time was. */
export function mainFunction(model: ReportModel) {
  return [...model.functions].sort((a, b) => b.events.inference.total_ms - a.events.inference.total_ms)[0];
}

export function sentence(report: Report): string {
  const usual = report.models.map((model) => {
    const events = mainFunction(model)?.events.inference;
    return { model: model.name, median_ms: events?.median_ms ?? null, p90_ms: events?.p90_ms ?? null, count: events?.count ?? 0, total_ms: events?.total_ms ?? 0 };
  });
  const grave = report.findings.filter((finding) => finding.severity !== 'low');
  const kinds = grave.filter((finding, i) => grave.findIndex((other) => other.id === finding.id) === i); // the same of two models is one thing to say
  return verdict(usual, kinds.map((finding) => finding.title), report.findings.length - grave.length);
}

export function subline(report: Report, meta: Meta): string {
  const done = report.models.reduce((n, model) => n + sum(model, (events) => events.count + (events.perturbed.included ? 0 : events.perturbed.count), 'inference'), 0);
  const open = report.models.reduce((n, model) => n + sum(model, (events) => events.unfinished, 'inference'), 0);
  const rate = report.pipeline.requests && report.duration_s ? `${count(report.pipeline.requests / report.duration_s)} requests/s` : '';
  if (!report.models.length) return [`${count(meta.zones)} events`, duration(report.duration_s * 1e9), 'no model found'].join(' · ');
  return [
    meta.runtimes.join(', '),
    `${report.models.length} ${plural(report.models.length, 'model')}`,
    `${count(done)} ${plural(done, 'inference')} finished${open ? `, ${count(open)} open` : ''}`,
    rate,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** How many inferences the figures leave out because their operators were recorded. */
export const leftOut = (report: Report): number => report.models.reduce((n, model) => n + sum(model, (events) => (events.perturbed.included ? 0 : events.perturbed.count), 'inference'), 0);

export const rowsOf = (events: Record<EventCategory, Events>): EventCategory[] => CATEGORIES.filter((category) => events[category].count + events[category].unfinished + events[category].failed > 0);

export interface StartPart {
  name: string;
  ms: number;
  category: EventCategory | '';
}

/** From the program's start to its first answer, of the model whose first inference ended first. Empty: not known. */
export function startParts(model: ReportModel | undefined, first: { start: number; duration: number } | null): StartPart[] {
  const events = model && mainFunction(model)?.events;
  if (!events || !first || !events.load.count || events.load.first_ms === null) return [];
  const total = (first.start + first.duration) / 1e6;
  const inference = first.duration / 1e6;
  const specialization = Math.min(events.specialization.first_ms ?? 0, events.load.first_ms);
  const load = events.load.first_ms - specialization;
  const prepare = events['prepare-ep'].first_ms ?? 0;
  const program = total - inference - load - specialization - prepare;
  if (program < 0) return []; // parts that lie in one another, or a program that was running already
  const parts: StartPart[] = [
    { name: 'Program', ms: program, category: '' },
    { name: 'Prepare', ms: prepare, category: 'prepare-ep' },
    { name: 'Load', ms: load, category: 'load' },
    { name: 'Specialization', ms: specialization, category: 'specialization' },
    { name: 'First inference', ms: inference, category: 'inference' },
  ];
  return parts.filter((part) => part.ms > 0);
}

export interface RequestPart {
  name: string;
  ms: number;
  inference: boolean;
}

/** One request: its stages where the program told of them, else what is around one inference. */
export function requestParts(report: Report): { parts: RequestPart[]; of: string } {
  const { requests, stages } = report.pipeline;
  if (requests > 0 && stages.length) return { parts: stages.filter((stage) => stage.mean_ms > 0).map((stage) => ({ name: stage.name, ms: stage.mean_ms, inference: /infer|model|run/i.test(stage.name) })), of: `mean of ${count(requests)} requests` };
  for (const model of report.models) {
    for (const { request } of model.functions) {
      if (!request.count || request.inference_ms === null) continue;
      const parts = [
        { name: 'Before', ms: request.before_ms ?? 0, inference: false },
        { name: 'Inference', ms: request.inference_ms, inference: true },
        { name: 'After', ms: request.after_ms ?? 0, inference: false },
      ];
      return { parts: parts.filter((part) => part.ms > 0), of: `mean of ${count(request.count)}` };
    }
  }
  return { parts: [], of: '' };
}

export interface InstrumentLine {
  name: string;
  mark: '●' | '◐' | '○';
  word: 'on' | 'partly' | 'off';
  words: string;
}

const INSTRUMENTS: Record<string, string> = { samples: 'Sampling', models: 'ML events', wakers: 'Wakeups', sched: 'Scheduling', 'kernel frames': 'Kernel frames', gpu: 'GPU work', npu: 'NPU' };

/** What people look for first comes first; what is not here comes last. */
const ORDER = ['ML events', 'ONNX', 'Operators', 'Zones', 'Sampling', 'Kernel', 'Scheduling', 'Wakeups', 'Memory', 'Allocations', 'Arena', 'Resources', 'GPU', 'NPU'];

/** Every instrument with on, partly, off and why; those that nobody asked for too. */
export function instrumentLines(instruments: Instrument[], meta: Meta, report: Report | null): InstrumentLine[] {
  const lines: InstrumentLine[] = instruments.map((one) => {
    const word = one.state === 'on' ? 'on' : one.state === 'partly' || one.state === 'partial' || one.state === 'degraded' ? 'partly' : 'off';
    return { name: INSTRUMENTS[one.name] ?? capital(one.name), word, mark: word === 'on' ? '●' : word === 'partly' ? '◐' : '○', words: one.reason };
  });
  const has = (name: string) => lines.some((line) => line.name.toLowerCase().startsWith(name.toLowerCase()));
  const off = (name: string, words: string) => !has(name) && lines.push({ name, word: 'off', mark: '○', words });
  const zones = lines.find((line) => line.name === 'Zones');
  if (zones && !zones.words) zones.words = `${count(meta.zones)} events`;
  const events = lines.find((line) => line.name === 'ML events');
  if (events && !events.words) events.words = `${meta.models.length} ${plural(meta.models.length, 'model')}`;
  off('Operators', 'off: add --ops');
  off('Sampling', 'off: add --sample');
  if (meta.has.states) lines.push({ name: 'Scheduling', word: meta.has.wakers ? 'on' : 'partly', mark: meta.has.wakers ? '●' : '◐', words: meta.has.wakers ? 'context switches and wakeups' : 'context switches, without wakeups (waker → wakee)' });
  else off('Scheduling', 'off: add --sched');
  const memory = has('Memory') ? undefined : report?.memory;
  if (memory?.fine) lines.push({ name: 'Memory', word: 'on', mark: '●', words: `every ${duration((memory.resolution_ms ?? 0) * 1e6)}${memory.heap ? ' · allocations' : ''}` });
  else if (memory) lines.push({ name: 'Memory', word: 'partly', mark: '◐', words: `resident size every ${duration((memory.resolution_ms ?? 0) * 1e6)}; add --memory for allocations` });
  else off('Memory', 'off: add --memory');
  const at = (line: InstrumentLine): number => ORDER.findIndex((name) => line.name.startsWith(name)) + 1 || ORDER.length + 1;
  return lines.sort((a, b) => at(a) - at(b));
}
