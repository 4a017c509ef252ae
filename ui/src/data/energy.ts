// SPDX-License-Identifier: Apache-2.0
// Joules per inference of a report, in words: pure functions.
import { fixed } from '../base/format.ts';
import type { EnergyDevice, EnergyUse, Report } from '../api/report.ts';

/** Three digits and the unit that fits: "12.4 mJ". */
export function joules(value: number): string {
  const [unit, scaled] = value >= 1 ? ['J', value] : value >= 1e-3 ? ['mJ', value * 1e3] : ['µJ', value * 1e6];
  return `${fixed(scaled, scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2)} ${unit}`;
}

const IDLE: Record<string, string> = {
  measured: 'measured before the program started',
  before_use: 'seen before the program used it',
  held: 'seen while no inference ran and the program held it',
};

function words(use: EnergyUse, device: EnergyDevice | undefined): string {
  if (use.joules_per_inference === null || use.low_j === null || use.high_j === null) return `n/a: ${use.reason}`;
  const notes = [use.shared ? `divided by time ${use.by_device_work ? 'of work on it ' : ''}among models` : '', use.upper_bound ? 'other programs were on the device' : ''].filter(Boolean);
  const idle = device?.idle_w == null ? '' : ` (${device.idle_w.toFixed(1)} W, ${IDLE[device.idle] ?? ''})`;
  return `${use.upper_bound ? '≤ ' : ''}${joules(use.joules_per_inference)} per inference, ${joules(use.low_j)} to ${joules(use.high_j)}, above idle power${idle}${notes.map((note) => `; ${note}`).join('')}`;
}

/** One line for each model and device that it uses. */
export function energyLines(report: Report): { model: string; device: string; words: string }[] {
  return report.models.flatMap((model) =>
    (model.energy ?? []).map((use) => ({
      model: model.name,
      device: use.device.toUpperCase(),
      words: words(use, report.machine?.energy.find((one) => one.device === use.device)),
    })),
  );
}
