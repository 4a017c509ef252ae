// SPDX-License-Identifier: Apache-2.0
// Resident memory over the run, growth by phase, who held it at the peak, and who allocated.
import { useMemo, useState } from 'preact/hooks';
import { asMemory, type MemoryDocument, type Heap, type HeapFunction, type HeapHolder, type MemoryPhase, type MemoryProcess, type MemoryReport } from '../../api/report.ts';
import type { Category, Values } from '../../api/types.ts';
import { bytes, count, duration, moment } from '../../base/format.ts';
import { categoryName, plural, shortName } from '../../base/words.ts';
import type { Order } from '../../base/sort.ts';
import { reportOf } from '../../data/report.ts';
import type { State } from '../../data/state.ts';
import { drawSeries, type SeriesMark } from '../../draw/series.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { Head, Nothing, Share, Swatch } from '../../widgets/parts.tsx';
import { VirtualTable, type Column } from '../../widgets/table.tsx';

const size = (value: number | null) => (value === null ? <span class="faint">–</span> : bytes(value));

/** Bytes, or n/a with why they are not known. */
const sizeOr = (value: number | null, why: string | null) =>
  value === null ? (
    <span class="faint" title={why ? `${why}: what changed between two polls may be of another phase` : ''}>
      n/a{why ? ` (${why})` : ''}
    </span>
  ) : (
    bytes(value)
  );

type Series = MemoryDocument['series'][number];

function valuesOf(points: [number, number][]): Values {
  const time = Float64Array.from(points, (point) => point[0]);
  const last = Float32Array.from(points, (point) => point[1]);
  return { from: time[0] ?? 0, to: time[time.length - 1] ?? 0, count: points.length, time, min: last, max: last, last };
}

/** The finest values of resident memory that a process has. */
function residentOf(series: Series[], pid: number): Series | undefined {
  const mine = series.filter((one) => one.pid === pid && one.points.length > 1);
  return mine.find((one) => one.name === 'resident bytes') ?? mine.find((one) => one.name === 'rss bytes');
}

function OverTime({ state, series, what, peak }: { state: State; series: Series; what: string; peak: { ns: number; value: number } | null }) {
  const value = useMemo(() => valuesOf(series.points), [series]);
  const marks: SeriesMark[] = peak ? [{ ...peak, text: `peak ${bytes(peak.value)}` }] : [];
  const step = Math.max(1, Math.floor(value.count / 12));
  const rows = [...value.time.keys()].filter((i) => i % step === 0).map((i) => [duration(value.time[i]!), bytes(value.last[i]!)]);
  return (
    <Chart height={160} label={`${what} over the run${peak ? `, at most ${bytes(peak.value)}` : ''}`} keys={[value, peak?.ns]} draw={(context, w, h, palette) => drawSeries(context, value, { from: 0, to: state.length }, 'bytes', marks, w, h, palette)}>
      <TwinTable title={what} head={['at', 'bytes']} rows={rows} />
    </Chart>
  );
}

function peakWords(process: MemoryProcess): string {
  const { model, category, number, op, zone } = process.peak_in;
  if (!model && !zone) return '';
  const what = [zone ? `zone ${zone}` : '', category ? `${categoryName(category).toLowerCase()}${number ? ` ${count(number)}` : ''} of ${model}` : '', op ? `operator ${op}` : ''].filter(Boolean);
  return `came close to its peak in ${what.join(', ')}`;
}

function Processes({ state, memory, series }: { state: State; memory: MemoryReport; series: Series[] }) {
  return (
    <>
      <Head title="Resident memory">
        polled every {duration((memory.resolution_ms ?? 0) * 1e6)}
        {memory.gaps ? ` · ${count(memory.gaps)} gaps, the longest ${duration((memory.longest_gap_ms ?? 0) * 1e6)}` : ''}
        {memory.fine ? '' : ' · record --memory polls every 10 ms'}
      </Head>
      {memory.processes.map((process) => {
        const values = residentOf(series, process.pid);
        const peak = process.peak_ns !== null && process.peak_bytes !== null ? { ns: process.peak_ns, value: process.peak_bytes } : null;
        return (
          <div class="memory-process" key={process.pid}>
            <p>
              <b>{process.name}</b> <span class="faint">pid {process.pid}</span> · peak <b>{size(process.peak_bytes)}</b> at {process.peak_ns === null ? '–' : moment(process.peak_ns, 1e6)}, {size(process.delta_bytes)} more than at the start ·{' '}
              {process.after_load_bytes !== null && <>after loading {size(process.after_load_bytes)} · </>}at the end {size(process.after_bytes)}
              {process.anon_peak_bytes !== null && <> · at most {size(process.anon_peak_bytes)} of it not of files</>}
              {peakWords(process) && <span class="sub"> · {peakWords(process)}</span>}
            </p>
            {values && <OverTime state={state} series={values} what={`Resident memory of ${process.name}`} peak={peak} />}
            {peak && (
              <button class="link" onClick={() => state.goTo(peak.ns - 1e8, peak.ns + 1e8)}>
                Show the peak on the timeline ›
              </button>
            )}
          </div>
        );
      })}
    </>
  );
}

function Phases({ state, phases }: { state: State; phases: MemoryPhase[] }) {
  const most = Math.max(...phases.map((phase) => phase.delta_bytes ?? 0), 1);
  return (
    <>
      <Head title="Growth by phase">largest first · the values are those of the instance that added most · growth: of all instances together</Head>
      <table class="tight">
        <thead>
          <tr>
            <th>Phase</th>
            <th class="num">Count</th>
            <th class="num wide">Before</th>
            <th class="num">Peak</th>
            <th class="num wide">After</th>
            <th class="num">Added</th>
            <th class="wide" />
            <th class="num wide">Growth</th>
          </tr>
        </thead>
        <tbody>
          {phases.map((phase, i) => (
            <tr key={i} class={phase.slice !== null ? 'opens' : ''} onClick={() => phase.slice !== null && void state.goToSlice(phase.slice)}>
              <td class="cut">
                {phase.category && <Swatch of={phase.category as Category} />}{' '}
                {phase.slice !== null ? (
                  <button class="plain" onClick={(event) => (event.stopPropagation(), void state.goToSlice(phase.slice!))}>
                    {phase.name}
                  </button>
                ) : (
                  phase.name
                )}
                {phase.coarse && phase.delta_bytes !== null && (
                  <span class="faint" title="the peak may lie just outside of the phase">
                    {' '}
                    ~ coarse
                  </span>
                )}
              </td>
              <td class="num" title={phase.unpolled_count ? `${count(phase.unpolled_count)} before the first poll or after the last: their memory is not known` : undefined}>
                {count(phase.count)}
              </td>
              <td class="num wide">{size(phase.before_bytes)}</td>
              <td class="num">{sizeOr(phase.peak_bytes, null)}</td>
              <td class="num wide">{size(phase.after_bytes)}</td>
              <td class="num">
                <b>{sizeOr(phase.delta_bytes, null)}</b>
              </td>
              <td class="bar-cell wide">
                <Share part={(phase.delta_bytes ?? 0) / most} color="var(--res-line)" width={120} />
              </td>
              <td class="num wide">{sizeOr(phase.growth_bytes, phase.growth_unknown)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const HOLDERS = 8;

function Holders({ title, rows }: { title: string; rows: { name: string; holder: HeapHolder }[] }) {
  const list = rows.filter((row) => row.holder.peak.bytes > 0).sort((a, b) => b.holder.peak.bytes - a.holder.peak.bytes).slice(0, HOLDERS);
  const most = Math.max(...list.map((row) => row.holder.peak.bytes), 1);
  if (!list.length) return null;
  return (
    <div>
      <Head title={title}>at the peak</Head>
      <table class="tight">
        <tbody>
          {list.map((row, i) => (
            <tr key={i}>
              <td class="cut" title={row.name}>
                {row.name}
              </td>
              <td class="bar-cell">
                <Share part={row.holder.peak.bytes / most} color="var(--res-line)" width={70} />
              </td>
              <td class="num" title={`± ${bytes(row.holder.peak.error_bytes)}`}>
                {bytes(row.holder.peak.bytes)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Allocations({ state, heap, series }: { state: State; heap: Heap; series: Series[] }) {
  const over = series.find((one) => one.name.startsWith('heap'));
  const [order, setOrder] = useState<Order>({ column: 'peak', down: true });
  const amount = (id: string, name: string, get: (row: HeapFunction) => { bytes: number; error_bytes: number }, from?: number): Column<HeapFunction> => ({
    id,
    title: name,
    number: true,
    width: '92px',
    ...(from ? { from } : {}),
    key: (row) => get(row).bytes,
    cell: (row) => <span title={`± ${bytes(get(row).error_bytes)}`}>{bytes(get(row).bytes)}</span>,
  });
  const columns: Column<HeapFunction>[] = [
    { id: 'name', title: 'Function', width: 'minmax(160px, 2fr)', key: (row) => row.name, cell: (row) => <span class="mono" title={row.stack.join('\n')}>{shortName(row.name)}{row.under ? <span class="faint"> under {shortName(row.under)}</span> : null}</span> },
    { id: 'module', title: 'Module', width: 'minmax(80px, 1fr)', from: 700, key: (row) => row.module, cell: (row) => <span class="sub">{row.module}</span> },
    amount('peak', 'At the peak', (row) => row.peak),
    amount('all', 'Allocated', (row) => row.all),
    amount('kept', 'Not freed', (row) => row.not_freed, 560),
  ];
  const open = async (row: HeapFunction) => {
    const found = (await state.source.find(row.name)).functions.find((one) => one.name === row.name);
    if (found) state.openSource(found.function);
    else state.say(`${shortName(row.name)} has no samples, so its source is unknown.`);
  };
  return (
    <>
      {over && over.points.length > 1 && (
        <>
          <Head title="Heap">estimated from {count(heap.all.count)} allocations that were picked</Head>
          <div>
            <OverTime state={state} series={over} what="Heap" peak={{ ns: heap.peak_ns, value: heap.peak.bytes }} />
          </div>
        </>
      )}
      <div class="memory-holders">
        <Holders title="Models" rows={heap.models.map((one) => ({ name: [one.model, one.category].filter(Boolean).join(' · ') || 'no model', holder: one }))} />
        <Holders title="Operators" rows={heap.operators.map((one) => ({ name: one.name || 'no operator', holder: one }))} />
        <Holders title="Threads" rows={heap.threads.map((one) => ({ name: one.name ? `${one.name} (${one.tid})` : `thread ${one.tid}`, holder: one }))} />
      </div>
      <Head title="Allocations by function">
        {bytes(heap.peak.bytes)} ± {bytes(heap.peak.error_bytes)} at the peak · {bytes(heap.all.bytes)} in all{heap.lost ? ` · ${count(heap.lost)} lost` : ''}
      </Head>
      <div class="memory-functions" style={{ height: `${Math.min(400, 30 + 24 * heap.functions.length)}px` }}>
        <VirtualTable label="Allocations by function" rows={heap.functions} columns={columns} order={order} onOrder={setOrder} onOpen={(row) => void open(row)} />
      </div>
      {heap.inferences.length > 0 && (
        <>
          <Head title="Per inference" />
          <ul class="plain-list">
            {heap.inferences.map((one) => (
              <li key={one.model}>
                {one.model}: <b>{bytes(one.allocated_bytes_each)}</b> allocated and <b>{bytes(one.freed_bytes_each)}</b> freed in each of {count(one.count)} {plural(one.count, 'inference')}, ± {bytes(one.error_bytes_each)}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

async function askMemory(state: State): Promise<MemoryDocument> {
  try {
    return asMemory(await state.source.memory());
  } catch {
    return { memory: (await reportOf(state.source)).memory ?? null, series: [] }; // a report that was mailed has no more
  }
}

export function Memory({ state }: { state: State }) {
  const { value, busy, error } = useAsk(() => askMemory(state), [state]);
  const memory = value?.memory;
  const series = value?.series ?? [];
  const say = (words: string) => state.say(words);
  return (
    <main class="memory-page">
      {error && <Nothing title="Memory cannot be shown.">{error}</Nothing>}
      {!memory && !busy && !error && (
        <Nothing title="Memory was not recorded." command="inferogram record --memory -- CMD" say={say}>
          Resources were not recorded, or the program was too short for one look.
        </Nothing>
      )}
      {memory && (
        <>
          <Processes state={state} memory={memory} series={series} />
          <Phases state={state} phases={memory.phases} />
          {memory.heap ? (
            <Allocations state={state} heap={memory.heap} series={series} />
          ) : (
            <Nothing title="Allocations were not recorded." command="inferogram record --memory -- CMD" say={say}>
              Allocations were not recorded. With --memory a part of them is picked, with their call stacks.
            </Nothing>
          )}
        </>
      )}
    </main>
  );
}
