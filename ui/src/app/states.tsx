// SPDX-License-Identifier: Apache-2.0
// What is shown while there is nothing to show, and why.
import type { Traces } from '../api/types.ts';
import { bytes, duration } from '../base/format.ts';

export function Loading({ progress }: { progress: number }) {
  return (
    <div class="state-page" role="status">
      <div class="state-line" style={{ width: `${Math.round(progress * 100)}%` }} />
      <p class="state-words">Reading the trace{progress > 0 ? ` · ${Math.round(progress * 100)} %` : ''}</p>
    </div>
  );
}

export function WrongToken() {
  return (
    <div class="state-page">
      <h1>This address has no valid token.</h1>
      <p>Open the address that <code>inferogram serve</code> printed, with everything behind the #.</p>
    </div>
  );
}

export function ServerGone() {
  return (
    <div class="state-page">
      <h1>The server does not answer.</h1>
      <p>
        Start it again with <code>inferogram serve FILE</code> and open the address that it prints.
      </p>
    </div>
  );
}

export function NoTrace({ why }: { why: string }) {
  return (
    <div class="state-page">
      <h1>This trace cannot be shown.</h1>
      <p>{why}</p>
    </div>
  );
}

export function Picker({ traces }: { traces: Traces }) {
  return (
    <div class="state-page picker">
      <h1>Traces</h1>
      {traces.traces.length === 0 && <p>There is no trace here. Record one with <code>inferogram record -- CMD</code>.</p>}
      <ul>
        {traces.traces.map((trace) => (
          <li key={trace.id} class={trace.state === 'bad' ? 'bad' : ''}>
            {trace.state === 'bad' ? (
              <span>{trace.name}</span>
            ) : (
              <a href={`#trace=${trace.id}`} onClick={() => setTimeout(() => location.reload(), 0)}>
                {trace.name}
              </a>
            )}
            <span class="sub">{trace.state === 'bad' ? trace.why : [trace.program, trace.length_ns ? duration(trace.length_ns) : '', bytes(trace.bytes)].filter(Boolean).join(' · ')}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
