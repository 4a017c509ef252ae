// SPDX-License-Identifier: Apache-2.0
// A trace that is in the page itself: documents as the server had answered them, and columns to compute the rest from.
import { ApiError, filtered, query } from './client.ts';
import { readColumns, type Columns } from './embedded_columns.ts';
import { rangeStats, sliceDetails } from './embedded_slice.ts';
import { flowsOfRange, flowsOfSlice, joinFlows } from './embedded_flows.ts';
import { bucketValues } from './lod.ts';
import { takeSections, unpackJson } from './sections.ts';
import type { Filter, TraceSource, Window } from './source.ts';
import type { Annotated, Busy, Flame, FlameMode, Flows, Found, Json, Meta, Ops, Points, ProgramFunction, RangeStats, SampledStats, SliceDetails, Slices, Stats, SwitchRow, Values } from './types.ts';

const NONE: Slices = { from: 0, to: 0, rows: 0, count: 0, start: new Float64Array(), duration: new Float32Array(), location: new Uint32Array(), merged: new Uint32Array(), id: new Uint32Array(), row: new Uint16Array(), flags: new Uint8Array() };
const WHOLE = 'A mailed report has this for the whole trace only. Open the trace itself with inferogram serve.';
const BUSY = 'busy?px=800';

type Documents = Record<string, Json>;

class EmbeddedTrace implements TraceSource {
  readonly online = false;
  private readonly documents: Promise<Documents>;
  private readonly unpacked: () => Promise<Columns>;
  private arrows: Flows | null = null;

  constructor(sections: Map<string, string>) {
    let columns: Promise<Columns> | null = null;
    this.documents = unpackJson<Documents>(sections.get('documents') ?? '');
    this.unpacked = () => (columns ??= this.meta().then((meta) => readColumns(sections, meta)));
  }

  private async document<T>(address: string, missing = WHOLE): Promise<T> {
    const documents = await this.documents;
    if (!Object.hasOwn(documents, address)) throw new ApiError(422, missing);
    return documents[address] as unknown as T;
  }

  columns = (): Promise<Columns> => this.unpacked();
  hasCode = async (): Promise<boolean> => Object.keys(await this.documents).some((address) => address.startsWith('annotate?'));
  meta = (): Promise<Meta> => this.document<Meta>('meta');
  report = (): Promise<Json> => this.document<Json>('report', 'This file contains no report.');
  memory = (): Promise<Json> => this.document<Json>('memory', 'Memory was not recorded.');
  ops = (model: number): Promise<Ops> => this.document<Ops>(`ops?model=${model}`, 'This file does not contain the operators of this model.');
  switches = (model: number): Promise<SwitchRow[]> => this.document<SwitchRow[]>(`switches?model=${model}`, 'This file does not contain context switches.');
  functions = async (): Promise<ProgramFunction[]> => ('functions' in (await this.documents) ? (await this.document<{ functions: ProgramFunction[] }>('functions')).functions : []);
  flame = (filter: Filter, mode: FlameMode): Promise<Flame> => this.document<Flame>(`flame?${query({ ...filtered(filter), mode })}`);
  annotate = (functionId: number, filter: Filter): Promise<Annotated> =>
    this.document<Annotated>(`annotate?${query({ function: functionId, ...filtered(filter) })}`).catch(() => this.document<Annotated>(`annotate?function=${functionId}`, 'This file does not contain the code of this function, only that of the functions with most samples.'));

  private async rows<T extends { name: string; model?: unknown }>(address: string, text: string | undefined): Promise<{ rows: T[] }> {
    const answer = await this.document<{ rows: T[] }>(address);
    const wanted = text?.toLowerCase();
    return wanted ? { ...answer, rows: answer.rows.filter((row) => row.name.toLowerCase().includes(wanted)) } : answer;
  }

  private async statistics<T extends { name: string; model?: unknown }>(by: string, mode: string, filter: Filter): Promise<{ rows: T[] }> {
    const { q, ...rest } = filtered(filter);
    const documents = await this.documents;
    const address = `stats?${query({ by, mode, ...rest })}`;
    // With one model only, what is asked of it is asked of all.
    const meta = await this.meta();
    const alone = !Object.hasOwn(documents, address) && meta.models.length === 1 && rest.t0 === undefined && rest.thread === undefined && rest.op === undefined;
    return this.rows<T>(alone ? `stats?${query({ by, mode })}` : address, q);
  }

  stats = (by: string, filter: Filter): Promise<Stats> => this.statistics<Stats['rows'][number]>(by, 'instrumentation', filter);
  sampledStats = (filter: Filter): Promise<SampledStats> => this.statistics<SampledStats['rows'][number]>('function', 'sampling', filter) as Promise<SampledStats>;

  slices = async (track: string, { from, to, px }: Window): Promise<Slices> => (await this.columns()).rows.get(track)?.query(from, to, px) ?? NONE;
  states = (track: string, window: Window): Promise<Slices> => this.layer('states', track, window);
  sampledCalls = (track: string, window: Window): Promise<Slices> => this.layer('sampled_calls', track, window);

  private async layer(name: string, track: string, { from, to, px }: Window): Promise<Slices> {
    return (await this.columns()).sets.get(`${name}:${track}`)?.rows.query(from, to, px) ?? NONE;
  }

  values = async (track: string, { from, to, px }: Window): Promise<Values> => {
    const found = (await this.columns()).values.get(track);
    return bucketValues(found?.time ?? new Float64Array(), found?.value ?? new Float32Array(), from, to, px);
  };

  busy = (): Promise<Busy> => this.document<Busy>(BUSY);

  slice = async (id: number): Promise<SliceDetails> => {
    const [columns, meta, documents] = await Promise.all([this.columns(), this.meta(), this.documents]);
    return sliceDetails(columns, meta, documents['report'], id);
  };

  range = async (from: number, to: number, part: Filter): Promise<RangeStats> => {
    const columns = await this.columns();
    if (!columns.index.exact) throw new ApiError(422, WHOLE);
    return rangeStats(columns, await this.meta(), from, to, part);
  };

  flows = async (of: { slice: number } | { from: number; to: number }): Promise<Flows> => {
    const documents = await this.documents;
    const all = (this.arrows ??= joinFlows(Object.keys(documents).filter((address) => address.startsWith('flows?')).map((address) => documents[address] as unknown as Flows)));
    return 'slice' in of ? flowsOfSlice(all, of.slice) : flowsOfRange(all, of.from, of.to);
  };

  find = async (text: string): Promise<Found> => {
    const [{ index }, meta, documents] = await Promise.all([this.columns(), this.meta(), this.documents]);
    const wanted = text.toLowerCase();
    const has = (name: string): boolean => name.toLowerCase().includes(wanted);
    const hits = meta.locations.flatMap((one, number) => {
      const [count, total_ns, first] = index.sums[number] ?? [0, 0, -1];
      return count > 0 && has(one.name) ? [{ location: number, name: one.name, kind: one.kind, model: one.model, count, total_ns, first }] : [];
    });
    hits.sort((a, b) => b.total_ns - a.total_ns);
    const sampled = (documents['stats?by=function&mode=sampling'] as unknown as SampledStats | undefined)?.rows ?? [];
    return { hits: hits.slice(0, 50), models: meta.models.filter((model) => has(model.name)), functions: sampled.filter((row) => has(row.name)).slice(0, 20) };
  };

  /** Calls back for each slice of these locations that is here one by one. */
  private async each(locations: number[], call: (id: number, start: number, duration: number) => void): Promise<void> {
    const { items, index, sets } = await this.columns();
    const wanted = new Set(locations);
    for (let i = 0; index.exact && i < index.first_message; i++) if (wanted.has(items.location[i]!)) call(i, items.start[i]!, items.duration[i]!);
    if (index.exact) return;
    for (const [key, set] of sets) {
      if (!/^slices:t\d/.test(key)) continue;
      for (let i = 0; i < set.items.start.length; i++) if (wanted.has(set.items.location[i]!)) call(set.items.id![i]!, set.items.start[i]!, set.items.duration[i]!);
    }
  }

  next = async (locations: number[], from: number, direction: 1 | -1): Promise<{ id: number | null; start: number }> => {
    const best = { id: null as number | null, start: direction > 0 ? Infinity : -Infinity };
    await this.each(locations, (id, start) => {
      if (direction > 0 ? start > from && start < best.start : start < from && start > best.start) Object.assign(best, { id, start });
    });
    return best;
  };

  marks = async (locations: number[], px: number): Promise<{ marks: number[] }> => {
    const { length_ns } = await this.meta();
    const marks = new Set<number>();
    await this.each(locations, (_, start) => marks.add(Math.min(px - 1, Math.floor((start / length_ns) * px))));
    return { marks: [...marks].sort((a, b) => a - b) };
  };

  runs = async (model: number): Promise<Points> => {
    const [columns, meta] = await Promise.all([this.columns(), this.meta()]);
    const items = columns.sets.get(`runs:${model}`)?.items;
    return { length: meta.length_ns, count: items?.start.length ?? 0, start: items?.start ?? new Float64Array(), duration: Float32Array.from(items?.duration ?? []), id: items?.id ?? new Uint32Array() };
  };
}

/** What a mailed report left out; empty for a trace that a server has. */
export async function leftOut(source: TraceSource): Promise<{ exact: boolean; slices: number; kept: number; slowest: number; byModel: boolean; leastNs: number; allArguments: boolean; code: boolean } | null> {
  if (!(source instanceof EmbeddedTrace)) return null;
  const { index } = await source.columns();
  const code = await source.hasCode();
  return { exact: index.exact, slices: index.slices, kept: index.slices_kept, slowest: index.slowest.length, byModel: index.by_model, leastNs: index.least_ns, allArguments: index.args_all, code };
}

export interface Embedded {
  trace: TraceSource | null;
  bench: Json | null;
  compare: Json | null;
}

/** What is in this page; null: it came from a server. */
export async function findEmbedded(page: Document): Promise<Embedded | null> {
  const sections = takeSections(page);
  if (!sections.size) return null;
  const json = (name: string): Promise<Json | null> => (sections.has(name) ? unpackJson<Json>(sections.get(name)!) : Promise.resolve(null));
  return { trace: sections.has('documents') ? new EmbeddedTrace(sections) : null, bench: await json('bench'), compare: await json('compare') };
}
