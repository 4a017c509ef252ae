// SPDX-License-Identifier: Apache-2.0
// Numbers for people: three digits, a thin space before the unit, commas between thousands.

const THIN = '\u2009';

/** As the report rounds: what is in the middle goes to the even digit. toFixed() rounds it up, and the two would differ. */
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const scaled = Math.abs(value) * 10 ** digits;
  const isMiddle = scaled % 1 === 0.5 && /50{19}$/.test(value.toFixed(digits + 20));
  if (!isMiddle || Math.floor(scaled) % 2) return text;
  return (Math.sign(value) * (Math.floor(scaled) / 10 ** digits)).toFixed(digits);
}

function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return fixed(value, 0);
  if (size >= 9.995) return fixed(value, 1);
  return fixed(value, 2);
}

/** "61.8 ms", "302 ms", "0.31 ms" is written as "310 µs". */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (!Number.isFinite(ns)) return '–';
  if (ns === 0) return `0${THIN}ns`;
  if (size < 999.5) return `${size < 10 && !Number.isInteger(ns) ? fixed(ns, 1) : fixed(ns, 0)}${THIN}ns`;
  if (size < 999.5e3) return `${three(ns / 1e3)}${THIN}µs`;
  if (size < 999.5e6) return `${three(ns / 1e6)}${THIN}ms`;
  if (size < 119.5e9) return `${three(ns / 1e9)}${THIN}s`;
  if (size < 7200e9) return `${three(ns / 60e9)}${THIN}min`;
  return `${three(ns / 3600e9)}${THIN}h`;
}

/** A point in time since the trace's begin, with as many digits as a step of this size needs. */
export function moment(ns: number, stepNs: number): string {
  if (Math.abs(ns) < 0.5) return '0';
  const [unit, name] = Math.abs(ns) >= 1e9 || stepNs >= 1e9 ? [1e9, 's'] : stepNs >= 1e5 || Math.abs(ns) >= 1e6 ? [1e6, 'ms'] : stepNs >= 100 || Math.abs(ns) >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(stepNs / unit) - 1e-9)));
  return `${thousands(fixed(ns / unit, digits))}${THIN}${name}`;
}

export function thousands(text: string): string {
  const [whole = '', fraction] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

export function count(value: number): string {
  return Number.isFinite(value) ? thousands(Math.round(value).toString()) : '–';
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–';
  if (share > 0 && share < 0.0005) return `<${THIN}0.1${THIN}%`;
  return `${fixed(share * 100, 1)}${THIN}%`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'];

export function bytes(value: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 999.5 && unit < SIZES.length - 1) {
    size /= 1000;
    unit++;
  }
  const text = unit === 0 ? fixed(size, 0) : three(size);
  return `${value < 0 ? '-' : ''}${text}${THIN}${SIZES[unit]}`;
}

/** A counter's value in its unit. */
export function quantity(value: number, unit: string): string {
  if (unit === 'bytes') return bytes(value);
  if (unit === 'ns') return duration(value);
  if (unit === 'us') return duration(value * 1e3);
  if (unit === '%') return `${fixed(value, Math.abs(value) < 9.95 ? 1 : 0)}${THIN}%`;
  const size = Math.abs(value);
  const text = Number.isInteger(value) ? count(value) : size >= 1e6 ? count(value) : thousands(three(value));
  return unit ? `${text}${THIN}${unit}` : text;
}

/** hh:mm:ss.sss, for the activity table of the live gauge. */
export function clock(ns: number): string {
  const ms = Math.floor(ns / 1e6);
  const part = (value: number, digits: number) => value.toString().padStart(digits, '0');
  return `${part(Math.floor(ms / 3600000), 2)}:${part(Math.floor(ms / 60000) % 60, 2)}:${part(Math.floor(ms / 1000) % 60, 2)}.${part(ms % 1000, 3)}`;
}
