// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Annotated, SampledRow } from '../src/api/types.ts';
import { byKind, codeLines, firstShown, hasSource, hotAddresses, hotLines, rowsSeen, sourceLines, stepHot } from '../src/views/source/lines.ts';

const line = (n: number, self: number, text: string | null = 'x') => ({ line: n, text, self, total: self });
const instruction = (a: string, t: string, s: number, l: [number, number] | null = null) => ({ a, b: '90', t, s, l, j: false });
const made = (change: Partial<Annotated>): Annotated => ({ name: 'f', module: 'm', start: '0', size: 0, samples: 100, self: 50, total: 60, by_timer: true, why_no_code: '', files: [], code: [], ...change });

test('lines of several files, with gaps', () => {
  const lines = sourceLines(made({ files: [{ path: 'a.c', lines: [line(1, 0), line(2, 3), line(9, 1)] }, { path: 'b.c', lines: [line(4, 0)] }] }));
  assert.deepEqual(lines.map((one) => [...one.at, one.gap, one.first]), [[0, 1, false, true], [0, 2, false, false], [0, 9, true, false], [1, 4, false, true]]);
});

test('hot lines are walked through from the hottest, around', () => {
  const hot = hotLines(made({ files: [{ path: 'a.c', lines: [line(1, 2), line(2, 30), line(3, 0), line(4, 8)] }] }));
  assert.deepEqual(hot.map((one) => one.at[1]), [2, 4, 1]);
  assert.deepEqual(stepHot(hot, null, 1), [0, 2]);
  assert.deepEqual(stepHot(hot, [0, 2], 1), [0, 4]);
  assert.deepEqual(stepHot(hot, [0, 2], -1), [0, 1]);
  assert.deepEqual(stepHot(hot, [0, 1], 1), [0, 2]);
  assert.equal(stepHot([], null, 1), null);
});

test('without lines instructions are', () => {
  assert.deepEqual(hotAddresses(made({ code: [instruction('10', 'nop', 0), instruction('11', 'ret', 1), instruction('12', 'pause', 9)] })), ['12', '11']);
});

test('source that is not in the trace is none', () => {
  assert.equal(hasSource(made({ files: [{ path: 'a.S', lines: [line(1, 5, null)] }] })), false);
  assert.equal(hasSource(made({ files: [{ path: 'a.c', lines: [line(1, 5, '')] }] })), true);
});

test('long functions are shown where samples are', () => {
  const code = Array.from({ length: 1000 }, (_, i) => instruction(i.toString(16), 'nop', i === 500 ? 7 : 0));
  const lines = codeLines(made({ code }), false, 100);
  const shown = lines.filter((one) => !('left' in one)).length;
  const left = lines.reduce((n, one) => n + ('left' in one ? one.left : 0), 0);
  assert.equal(shown + left, 1000);
  assert.ok(shown < 30);
  assert.equal(codeLines(made({ code }), true, 100).length, 1000);
});

test('instructions by what they do', () => {
  const kinds = byKind(made({ code: [instruction('0', 'movss [rcx], xmm0', 5), instruction('1', 'movss xmm0, [rcx]', 3), instruction('2', 'divss xmm0, xmm1', 9), instruction('3', 'jnz 0x10', 1), instruction('4', 'ud2', 2), instruction('5', 'pop rbx', 0)] }));
  assert.deepEqual(kinds, [{ name: 'divide', self: 9 }, { name: 'store', self: 5 }, { name: 'load', self: 3 }, { name: 'other', self: 2 }, { name: 'compare and jump', self: 1 }]);
});

test('of a long function only what is seen is there', () => {
  assert.deepEqual(rowsSeen(400, 18, 5000, 700), [0, 400]);
  const [from, to] = rowsSeen(20000, 18, 180000, 700);
  assert.ok(from <= 10000 && to >= 10039 && to - from < 200, `${from} ${to}`);
  assert.deepEqual(rowsSeen(20000, 18, 0, 700)[0], 0);
  assert.equal(rowsSeen(20000, 18, 1e9, 700)[1], 20000);
});

test('without a choice: the hottest function, or one with lines that is nearly as hot', () => {
  const of = (name: string, self: number, file = ''): SampledRow => ({ function: 0, name, guessed: false, under: '', module: 'm', self, total: self, inferred: 0, file, line: 0 }) as SampledRow;
  assert.equal(firstShown([of('lib+0x1', 19), of('prepare', 17, 'a.js'), of('x', 1)]).name, 'prepare');
  assert.equal(firstShown([of('[generated code] [unknown]', 83), of('is_a', 1), of('malloc', 1, 'm.c')]).name, '[generated code] [unknown]');
  assert.equal(firstShown([of('m [unknown]', 10), of('f', 9)]).name, 'f');
});
