// SPDX-License-Identifier: Apache-2.0
// The categories of a model in figures, and where its nodes ran: the same on the summary and on the page of models.
import type { Report, ReportModel } from '../api/report.ts';
import { CATEGORIES, type EventCategory } from '../api/report.ts';
import { bytes, count, duration, percent } from '../base/format.ts';
import { categoryClass, deviceOf, plural, providerName } from '../base/words.ts';
import { CategoryKey, Share, StackBar } from './parts.tsx';

export type OpenCategory = (model: ReportModel, functionName: string, category: EventCategory) => void;

const ms = (value: number | null, needs = 0) =>
  value === null ? (
    <span class="faint" title={needs ? `needs at least ${needs}` : undefined}>
      –
    </span>
  ) : (
    duration(value * 1e6)
  );

export const modelNodes = (model: ReportModel): number => Object.values(model.placement.nodes).reduce((sum, nodes) => sum + nodes, 0);

function Tag({ model, category }: { model: ReportModel; category: EventCategory }) {
  const events = model.functions.map((one) => one.events[category]);
  const open = events.reduce((n, one) => n + one.unfinished, 0);
  const failed = events.reduce((n, one) => n + one.failed, 0);
  if (open) return <span class="chip bad">{open} open</span>;
  if (failed) return <span class="chip bad">{failed} failed</span>;
  return <span class="faint">{category === 'load' ? model.specialization : ''}</span>;
}

function Rows({ model, most, open }: { model: ReportModel; most: number; open: OpenCategory }) {
  const all = model.functions.flatMap((one) => CATEGORIES.map((category) => ({ name: one.name, category, events: one.events[category] }))).filter(({ events }) => events.count + events.unfinished + events.failed > 0);
  const largest = Math.max(...all.map(({ events }) => events.total_ms), 0);
  return (
    <>
      {all.map(({ name, category, events }) => (
        <tr key={name + category} class={events.total_ms === largest ? 'big opens' : 'opens'} onClick={() => open(model, name, category)}>
          <td class="first">
            <button class="plain" onClick={(event) => (event.stopPropagation(), open(model, name, category))} title="Show the first one on the timeline">
              <CategoryKey category={category} />
            </button>
            {model.functions.length > 1 && <span class="faint"> {name}</span>}
          </td>
          <td>
            <Tag model={model} category={category} />
          </td>
          <td class="num">{count(events.count)}</td>
          <td class="num wide">{ms(events.first_ms)}</td>
          <td class="num">{ms(events.median_ms)}</td>
          <td class="num wide">{ms(events.p90_ms, 10)}</td>
          <td class="num wide">{ms(events.p99_ms, 100)}</td>
          <td class="num">{ms(events.max_ms)}</td>
          <td class="num">{ms(events.total_ms)}</td>
          <td class="share-cell wide">
            <Share part={events.share / most} color={`var(--cat-${categoryClass(category)})`} width={96} /> <span class="dim">{percent(events.share)}</span>
          </td>
        </tr>
      ))}
    </>
  );
}

export function ModelTable({ report, models, open, title }: { report: Report; models: ReportModel[]; open: OpenCategory; title?: (model: ReportModel) => void }) {
  const most = Math.max(...report.models.flatMap((model) => model.functions.flatMap((one) => CATEGORIES.map((category) => one.events[category].share))), 1e-9);
  return (
    <table class="models-table">
      <thead>
        <tr>
          <th class="first">Category</th>
          <th />
          {(['Count', 'First', 'Median', 'p90', 'p99', 'Max', 'Total'] as const).map((name) => (
            <th key={name} class={`num${['First', 'p90', 'p99'].includes(name) ? ' wide' : ''}`} title={{ p90: 'of 10 or more', p99: 'of 100 or more', First: 'the first one of its kind' }[name as string]}>
              {name}
            </th>
          ))}
          <th class="wide">Share</th>
        </tr>
      </thead>
      <tbody>
        {models.map((model) => (
          <>
            {title && (
              <tr class="model-head">
                <td colSpan={10}>
                  <button class="plain" title="Only this model" onClick={() => title(model)}>
                    <b>{model.name}</b>
                  </button>{' '}
                  <span class="faint">
                    {[model.functions.map((one) => one.name).join(', '), modelNodes(model) ? `${count(modelNodes(model))} ${plural(modelNodes(model), 'node')}` : '', model.file_bytes ? bytes(model.file_bytes) : '', model.inferred && `name inferred from ${model.inferred}`].filter(Boolean).join(' · ')}
                  </span>
                </td>
              </tr>
            )}
            <Rows model={model} most={most} open={open} />
          </>
        ))}
      </tbody>
    </table>
  );
}

/** "CUDA 372 of 400 nodes, CPU 28", with a bar. */
export function PlacementBar({ model }: { model: ReportModel }) {
  const nodes = Object.entries(model.placement.nodes).sort((a, b) => b[1] - a[1]);
  const asked = model.placement.requested.filter((provider) => !(provider in model.placement.nodes)).map((provider): [string, number] => [provider, 0]);
  const all = modelNodes(model);
  if (!all)
    return (
      <>
        <span class="stackbar empty" />
        <span class="sub">{model.placement.actual.length ? `ran on ${model.placement.actual.map(providerName).join(', ')}` : 'unknown where it ran'}</span>
      </>
    );
  const told = [...asked, ...nodes];
  return (
    <>
      <StackBar parts={nodes.map(([provider, n]) => ({ name: providerName(provider), value: n, color: `var(--dev-${deviceOf(provider)})` }))} />
      <span>
        {told.map(([provider, n], i) => (
          <span key={provider}>
            {i ? ', ' : ''}
            {providerName(provider)} <b>{count(n)}</b>
            {i ? '' : ` of ${count(all)} ${plural(all, 'node')}`}
          </span>
        ))}
      </span>
    </>
  );
}

