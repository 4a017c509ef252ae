// SPDX-License-Identifier: Apache-2.0
// What is shown while there is nothing to show, and why.
import type { Traces } from '../api/types.ts';
import { useState } from 'preact/hooks';
import { day } from '../base/day.ts';
import { bytes, count, duration } from '../base/format.ts';
import { plural } from '../base/words.ts';

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
      <p>Open the address that <code>inferogram serve</code> printed, including everything after the #.</p>
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

const FILTER_FROM = 6; // fewer are seen at once

export function Picker({ traces }: { traces: Traces }) {
  const [text, setText] = useState('');
  const all = traces.traces;
  const bad = all.filter((trace) => trace.state === 'bad').length;
  const fits = (words: string) => words.toLowerCase().includes(text.trim().toLowerCase());
  // newest first; what cannot be read comes last
  const shown = all.filter((trace) => fits(`${trace.path} ${trace.title || trace.program}`)).sort((a, b) => Number(a.state === 'bad') - Number(b.state === 'bad') || (a.start < b.start ? 1 : a.start > b.start ? -1 : a.id - b.id));
  return (
    <div class="state-page picker">
      <h1>
        {count(all.length)} {plural(all.length, 'trace')}
      </h1>
      {all.length === 0 && <p>No traces yet. Record one with <code>inferogram record -- CMD</code>.</p>}
      {bad > 0 && <p class="sub">{count(bad)} {plural(bad, 'file')} cannot be read.</p>}
      {all.length >= FILTER_FROM && <input class="field" type="search" placeholder="Filter" aria-label="Filter" value={text} onInput={(event) => setText((event.target as HTMLInputElement).value)} />}
      {all.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>File</th>
              <th>Command</th>
              <th class="num">Length</th>
              <th class="num wide">Size</th>
              <th class="num wide">Recorded</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((trace) =>
              trace.state === 'bad' ? (
                <tr key={trace.id}>
                  <td class="bad-word">{trace.name}</td>
                  <td class="sub" colSpan={4}>
                    {trace.why}
                  </td>
                </tr>
              ) : (
                <tr key={trace.id}>
                  <td title={trace.path}>
                    <a href={`#trace=${trace.id}`}>{trace.name}</a>
                  </td>
                  <td class="cut sub" title={trace.title}>
                    {trace.title || trace.program}
                  </td>
                  <td class="num">{trace.length_ns ? duration(trace.length_ns) : '–'}</td>
                  <td class="num wide">{bytes(trace.bytes)}</td>
                  <td class="num wide">{day(trace.start) || '–'}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      )}
      {all.length > 1 && <p class="sub">To compare two of them, open one, then choose Compare.</p>}
    </div>
  );
}
