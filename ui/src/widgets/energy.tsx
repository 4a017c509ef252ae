// SPDX-License-Identifier: Apache-2.0
// Joules per inference, a line for each model and device; nothing where a recording has none.
import type { Report } from '../api/report.ts';
import { energyLines } from '../data/energy.ts';
import { Head } from './parts.tsx';

export function Energy({ report }: { report: Report }) {
  const lines = energyLines(report);
  if (!lines.length) return null;
  return (
    <section>
      <Head title="Energy">joules per inference</Head>
      <ul class="plain-list">
        {lines.map((line, i) => (
          <li key={i}>
            <b>{line.model}</b> {line.device}: {line.words}
          </li>
        ))}
      </ul>
    </section>
  );
}
