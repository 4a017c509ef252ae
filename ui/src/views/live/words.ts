// SPDX-License-Identifier: Apache-2.0
// Times as the live page says them.

/** "1:26", "1:02:03": a second since the first event. */
export function minutes(second: number): string {
  const size = Math.abs(second);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(size / 3600);
  return `${second < 0 ? '−' : ''}${hours ? `${hours}:${two(Math.floor(size / 60) % 60)}` : Math.floor(size / 60)}:${two(size % 60)}`;
}
