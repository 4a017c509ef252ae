// SPDX-License-Identifier: Apache-2.0
// The bottom line: every instrument with on, partly, off and why; what recording cost; what was lost. Never hidden.
import { useState } from 'preact/hooks';
import type { Report } from '../../api/report.ts';
import { count, duration, percent } from '../../base/format.ts';
import type { State } from '../../data/state.ts';
import { instrumentLines } from '../../data/summary.ts';

const MARKS = { on: 'good', partly: 'warn', off: 'off' } as const;

function Cost({ report, state }: { report: Report | null; state: State }) {
  const overhead = report?.overhead;
  const lost = report?.drops ?? state.meta.dropped;
  const others = report?.losses.filter((loss) => loss.count > 0) ?? [];
  return (
    <dl class="kv">
      {overhead?.recorder_cpu_share !== null && overhead?.recorder_cpu_share !== undefined && (
        <>
          <dt>Recorder</dt>
          <dd>
            <b>{percent(overhead.recorder_cpu_share)}</b> of one CPU{overhead.recorder_cpu_s !== null ? `, ${duration(overhead.recorder_cpu_s * 1e9)} in all` : ''}
          </dd>
        </>
      )}
      {overhead?.operator_cost !== null && overhead?.operator_cost !== undefined && (
        <>
          <dt>Operators</dt>
          <dd>
            <b>+{(overhead.operator_cost * 100).toFixed(0)} %</b> where they were recorded{overhead.operator_added_ms ? `, ${duration(overhead.operator_added_ms * 1e6)} in all` : ''}
          </dd>
        </>
      )}
      <dt>Lost</dt>
      <dd>
        <b class={lost ? 'bad-word' : ''}>{count(lost)}</b> of {count(state.meta.zones + lost)} events
        {others.map((loss) => (
          <span key={loss.what}>
            {' '}
            · {count(loss.count)} {loss.what}
          </span>
        ))}
      </dd>
    </dl>
  );
}

export function Bottom({ report, state }: { report: Report | null; state: State }) {
  const [whole, setWhole] = useState(false);
  return (
    <footer class="summary-bottom">
      <div>
        <h2>
          Instruments{' '}
          <button class="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? 'short' : 'in full'}
          </button>
        </h2>
        <ul class={whole ? 'instruments whole' : 'instruments'}>
          {instrumentLines(state.meta.instruments, state.meta, report).map((line) => (
            <li key={line.name} title={`${line.name}: ${line.word}. ${line.words}`}>
              <span class={MARKS[line.word]} aria-label={line.word}>
                {line.mark}
              </span>
              <span>{line.name}</span>
              <span class="sub">{line.words}</span>
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h2>What recording cost</h2>
        <Cost report={report} state={state} />
      </div>
    </footer>
  );
}
