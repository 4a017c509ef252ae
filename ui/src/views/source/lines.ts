// SPDX-License-Identifier: Apache-2.0
// Lines and instructions of a function: which are hot, which belong together. Pure functions.
import type { Annotated, SampledRow } from '../../api/types.ts';

export type At = [file: number, line: number];

export interface SourceLine {
  at: At;
  text: string | null;
  self: number;
  total: number;
}

/** All lines of all files, in order; `gap` marks missing lines in between. */
export function sourceLines(annotated: Annotated): (SourceLine & { gap: boolean; first: boolean })[] {
  return annotated.files.flatMap((file, f) =>
    file.lines.map((line, i) => ({ at: [f, line.line] as At, text: line.text, self: line.self, total: line.total, first: i === 0, gap: i > 0 && line.line !== file.lines[i - 1]!.line + 1 })),
  );
}

/** Whether there is any text of source to show. */
export const hasSource = (annotated: Annotated): boolean => annotated.files.some((file) => file.lines.some((line) => line.text !== null));

export const sameAt = (a: At | null, b: At | null): boolean => a !== null && b !== null && a[0] === b[0] && a[1] === b[1];

/** Lines with samples of their own, hottest first. */
export function hotLines(annotated: Annotated): SourceLine[] {
  return sourceLines(annotated)
    .filter((line) => line.self > 0)
    .sort((a, b) => b.self - a.self || a.at[0] - b.at[0] || a.at[1] - b.at[1]);
}

/** The next colder (1) or hotter (-1) line; around at the ends. */
export function stepHot(hot: SourceLine[], from: At | null, by: 1 | -1): At | null {
  if (!hot.length) return null;
  const now = hot.findIndex((line) => sameAt(line.at, from));
  return hot[now < 0 ? 0 : (now + by + hot.length) % hot.length]!.at;
}

/** Addresses of instructions with samples, hottest first: what is walked through where no lines are known. */
export function hotAddresses(annotated: Annotated): string[] {
  return annotated.code
    .filter((one) => one.s > 0)
    .sort((a, b) => b.s - a.s)
    .map((one) => one.a);
}

/** What is shown without a choice, of functions by their samples: the hottest one; a colder one that has lines, or a name, if it is nearly as hot. */
export function firstShown(rows: SampledRow[]): SampledRow {
  const near = rows.filter((row) => row.self * 4 >= rows[0]!.self);
  return near.find((row) => row.file) ?? near.find((row) => !row.name.includes('[unknown]')) ?? rows[0]!;
}

export interface CodeLine {
  address: string;
  text: string;
  self: number;
  at: At | null;
  target: boolean;
}

const AROUND = 6;

/**
 * Instructions, without long stretches that have no sample: each of these is one line with the number that were left out.
 * All of them if the function is short.
 */
export function codeLines(annotated: Annotated, all: boolean, most = 400): (CodeLine | { left: number })[] {
  const code = annotated.code.map((one): CodeLine => ({ address: one.a, text: one.t, self: one.s, at: one.l, target: one.j }));
  if (all || code.length <= most) return code;
  const keep = new Uint8Array(code.length);
  code.forEach((one, i) => one.self > 0 && keep.fill(1, Math.max(0, i - AROUND), Math.min(code.length, i + AROUND + 1)));
  keep.fill(1, 0, Math.min(AROUND, code.length));
  const out: (CodeLine | { left: number })[] = [];
  for (let i = 0; i < code.length; i++) {
    const last = out[out.length - 1];
    if (keep[i]) out.push(code[i]!);
    else if (last && 'left' in last) last.left++;
    else out.push({ left: 1 });
  }
  return out;
}

const WHOLE = 1200; // so many rows a browser lays out at once without being felt
const MORE = 60; // rows above and below what is seen

/** Which rows of a long list have to be there: from, to (exclusive). */
export function rowsSeen(count: number, row: number, top: number, height: number): [from: number, to: number] {
  if (count <= WHOLE) return [0, count];
  const from = Math.min(Math.max(0, Math.floor(top / row) - MORE), Math.max(0, count - MORE));
  return [from, Math.min(count, Math.ceil((top + height) / row) + MORE)];
}

export interface Kind {
  name: string;
  self: number;
}

const KINDS: [RegExp, string][] = [
  [/^(v?div|v?idiv|v?sqrt|v?rcp|v?rsqrt)/, 'divide'],
  [/^(vfn?m(add|sub)|v?mul|v?pmul|v?pmadd|vpdpb|v?dpps|imul|mulx)/, 'multiply'],
  [/^(call|ret)/, 'call'],
  [/^(j[a-z]+|cmp|test|v?ucomis|v?comis|loop)/, 'compare and jump'],
  [/^(pause|lock|xchg|cmpxchg|mfence|lfence|sfence|umwait|tpause)/, 'wait and lock'],
  [/^(rep|movs|stos|scas|cmps)[bwdq]?\b/, 'copy'],
  [/^(v?cvt|v?pmovsx|v?pmovzx|movzx|movsx|cdq|cqo|cwde)/, 'convert'],
  [/^(lea|inc|dec)/, 'address'],
  [/^(v?add|v?sub|v?padd|v?psub|v?hadd|adc|sbb|neg)/, 'add'],
  [/^(v?max|v?min|v?pmax|v?pmin)/, 'minimum and maximum'],
  [/^(v?and|v?or|v?xor|v?pand|v?por|v?pxor|not|shl|shr|sar|rol|ror|v?psll|v?psr|bt|pop?cnt|tzcnt|lzcnt)/, 'bits'],
  [/^(v?shuf|v?perm|v?unpck|v?punpck|v?pshuf|v?broadcast|vpbroadcast|v?insert|v?extract|v?blend|v?pack|vpalignr)/, 'shuffle'],
  [/^(push|pop|enter|leave|endbr|nop)/, 'entry'],
];

/** What instructions do, by their samples. Moves are loads or stores by where the memory is. */
export function byKind(annotated: Annotated): Kind[] {
  const sums = new Map<string, number>();
  for (const { t, s } of annotated.code) {
    if (!s) continue;
    let name = KINDS.find(([pattern]) => pattern.test(t))?.[1];
    if (!name && /^(v?mov|v?lddqu|v?ptest)/.test(t)) name = /^\S+\s+[^,]*\[/.test(t) ? 'store' : /\[/.test(t) ? 'load' : 'move';
    sums.set(name ?? 'other', (sums.get(name ?? 'other') ?? 0) + s);
  }
  return [...sums].map(([name, self]) => ({ name, self })).sort((a, b) => b.self - a.self);
}
