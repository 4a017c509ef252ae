// SPDX-License-Identifier: Apache-2.0
// Where the time of a request, of the start, and of one inference goes: bars that the summary and the report share.
import type { Report, ReportModel } from '../api/report.ts';
import { count, duration, percent } from '../base/format.ts';
import { categoryClass, deviceOf, HOST_TIME } from '../base/words.ts';
import type { State } from '../data/state.ts';
import { requestParts, startParts } from '../data/summary.ts';
import type { FirstRun } from '../draw/dots.ts';
import { Head, Share, StackBar, type Segment } from './parts.tsx';

export function Parts({ title, of, parts }: { title: string; of: string; parts: Segment[] }) {
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  return (
    <div>
      <Head title={title}>{of}</Head>
      <StackBar parts={parts.map((part) => ({ ...part, text: percent(part.value / all) }))} height={26} label={`${title}: ${parts.map((part) => `${part.name} ${duration(part.value)}`).join(', ')}`} />
      <div class="legend">
        {parts.map((part) => (
          <span class="key" key={part.name}>
            <span class={`sw${part.hatched ? ' specialization' : ''}`} style={part.hatched ? {} : { background: part.color, borderColor: 'var(--sampled-call-edge)' }} />
            {part.name} <b>{duration(part.value)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

export function Start({ report, first }: { report: Report; first: FirstRun | null }) {
  const request = requestParts(report);
  const start = startParts(report.models[0], first);
  if (!request.parts.length && !start.length) return null;
  const zones = ['var(--zone-3)', 'var(--zone-4)', 'var(--zone-1)', 'var(--zone-2)', 'var(--zone-5)'];
  return (
    <div class="summary-start">
      {request.parts.length > 0 && (
        <Parts
          title="One request"
          of={request.of}
          parts={request.parts.map((part, i) => ({ name: part.name, value: part.ms * 1e6, color: part.inference ? 'var(--cat-inference)' : zones[i % zones.length]!, ink: part.inference ? 'var(--cat-inference-ink)' : 'var(--zone-ink)' }))}
        />
      )}
      {start.length > 0 && (
        <Parts
          title="From start to first answer"
          of={`${duration(start.reduce((sum, part) => sum + part.ms, 0) * 1e6)} since the recording began`}
          parts={start.map((part) => {
            const name = part.category ? `cat-${categoryClass(part.category)}` : 'zone-1';
            return { name: part.name, value: part.ms * 1e6, color: `var(--${name})`, ink: `var(--${part.category ? `${name}-ink` : 'zone-ink'})`, hatched: part.category === 'specialization' };
          })}
        />
      )}
    </div>
  );
}

const OPERATORS = 6;

export function Operators({ state, model }: { state: State; model: ReportModel }) {
  const runs = model.profiling.inferences;
  if (!model.operators.length || !runs) return null;
  const device = Object.keys(model.placement.nodes).length === 1 ? deviceOf(Object.keys(model.placement.nodes)[0]!) : null;
  const each = model.operators.map((op) => ({ name: op.type, many: op.count / runs, ns: (op.self_ms / runs) * 1e6 }));
  const shown = each.slice(0, OPERATORS - 1);
  const rest = each.slice(OPERATORS - 1);
  if (rest.length) shown.push({ name: 'other', many: rest.reduce((n, op) => n + op.many, 0), ns: rest.reduce((n, op) => n + op.ns, 0) });
  const most = Math.max(...shown.map((op) => op.ns), 1);
  return (
    <div>
      <Head title="Operators">of {duration(each.reduce((n, op) => n + op.ns, 0))} a run{model.profiling.host_time ? ` · ${HOST_TIME}` : ''}</Head>
      <table class="tight">
        <tbody>
          {shown.map((op) => (
            <tr key={op.name} class="opens" onClick={() => state.page.set('operators')}>
              <td class="cut">
                {op.name} <span class="faint">× {count(op.many)}</span>
              </td>
              <td class="bar-cell">
                <Share part={op.ns / most} color={device ? `var(--dev-${device})` : 'var(--st-running)'} width={70} />
              </td>
              <td class="num">{duration(op.ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button class="link" onClick={() => state.page.set('operators')}>
        All operators
      </button>
    </div>
  );
}
