// SPDX-License-Identifier: Apache-2.0
// The report is asked for once: several pages read it, and making it takes a while for large traces.
import { asReport, type Report } from '../api/report.ts';
import type { TraceSource } from '../api/source.ts';

const known = new WeakMap<TraceSource, Promise<Report>>();

export function reportOf(source: TraceSource): Promise<Report> {
  let report = known.get(source);
  if (!report) {
    report = source.report().then(asReport);
    report.catch(() => known.delete(source)); // asked again the next time
    known.set(source, report);
  }
  return report;
}
