// SPDX-License-Identifier: Apache-2.0
// What is wrong, worst first: what it costs, the evidence, one thing to do, and the way to the evidence.
import type { Finding, Report } from '../api/report.ts';
import { count } from '../base/format.ts';
import { capital, unbroken } from '../base/words.ts';
import { cost } from '../base/verdict.ts';
import type { State } from '../data/state.ts';
import { Advice, Head, SeverityChip, SeverityMark } from './parts.tsx';

/** The evidence: its first event, or where it can be seen. */
export function showEvidence(state: State, finding: Finding): void {
  const event = finding.evidence.events[0];
  state.search.set(''); // what an earlier search found would outshine it
  if (event !== undefined) void state.goToSlice(event);
  else if (finding.id === 'spinning' && state.meta.has.samples) state.page.set('flame');
  else if (finding.id.startsWith('memory')) state.page.set('memory');
  else {
    state.fit();
    state.page.set('timeline');
  }
}

function One({ finding, state }: { finding: Finding; state: State }) {
  const { amount, of } = cost(finding.id, finding.evidence.numbers);
  return (
    <li class="finding">
      <SeverityMark severity={finding.severity} />
      <div>
        <div class="finding-title">
          <b>{unbroken(capital(finding.title, finding.model))}</b> <SeverityChip severity={finding.severity} />
          {finding.model && state.meta.models.length > 1 && <span class="faint"> {finding.model}</span>}
        </div>
        <p class="finding-evidence">{unbroken(capital(finding.evidence.text, finding.model))}.</p>
        <div class="finding-fix">
          <span>
            <Advice text={unbroken(capital(finding.fix))} say={(words) => state.say(words)} />
          </span>
          <button class="link" onClick={() => showEvidence(state, finding)}>
            Show{finding.evidence.event_count > 1 ? ` 1 of ${count(finding.evidence.event_count)}` : ''} ›
          </button>
        </div>
      </div>
      <div class="finding-cost">
        <b>{amount}</b>
        <span class="faint">{of}</span>
      </div>
    </li>
  );
}

export function Findings({ report, state }: { report: Report; state: State }) {
  const list = report.findings;
  return (
    <>
      <Head title="Findings">{list.length ? `${list.length} · worst first` : ''}</Head>
      {list.length ? (
        <ul class="findings">
          {list.map((finding, i) => (
            <One key={i} finding={finding} state={state} />
          ))}
        </ul>
      ) : (
        <p class="sub finding-none">Nothing was found to be wrong. {report.models.length ? 'The rules checked loads, placement, latency, threads, memory and the machine.' : 'Most rules need a model.'}</p>
      )}
    </>
  );
}
