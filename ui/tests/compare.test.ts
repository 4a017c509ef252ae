// SPDX-License-Identifier: Apache-2.0
// What a comparison says, and where it draws.
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Diff, DiffRow } from '../src/api/diff.ts';
import { onAxis, ratioAxis } from '../src/base/ratio.ts';
import type { TraceEntry } from '../src/api/types.ts';
import { changedMost, difference, headline, inCommon, needs, partner } from '../src/views/compare/words.ts';

const row = (over: Partial<DiffRow>): DiffRow => {
  const change = over.change === undefined ? 0 : over.change;
  const a = { count: 100, total_ns: 2e9, median_ns: 20e6, blocks: 20 };
  return { kind: 'ml', name: 'inference', model: 'det', function: 'main', category: 'inference', a, b: { ...a, median_ns: a.median_ns * (1 + (change ?? 0)) }, verdict: 'SAME', change, low: change === null ? null : change - 0.01, high: change === null ? null : change + 0.01, p: 0.5, too_fine: false, significant: false, more: 0, ...over };
};
const diff = (...rows: DiffRow[]): Diff => ({ a: 'a', b: 'b', verdict: '', warning: '', threshold: 0.05, floor_ns: 100, common_change: 0, counts: { SAME: 0, REGRESSED: 0, IMPROVED: 0, UNSURE: 0, NEW: 0, GONE: 0 }, differences: [], rows });

test('the first line is about the inference with most time', () => {
  assert.equal(headline(diff(row({ verdict: 'IMPROVED', change: -0.067 }))).title, 'Inference is 6.7\u2009% faster.');
  assert.equal(headline(diff(row({ verdict: 'REGRESSED', change: 0.25 }))).title, 'Inference is 25\u2009% slower.');
  assert.equal(headline(diff(row({}))).title, 'Inference takes as long as before.');
  assert.equal(headline(diff(row({ verdict: 'UNSURE', more: 40 }))).more, 'About 40 more on each side would decide.');
  const setup = row({ category: 'setup', name: 'setup', verdict: 'REGRESSED', change: 0.16 });
  const two = headline(diff(row({ verdict: 'IMPROVED', change: -0.067 }), setup));
  assert.equal(two.title, 'Inference is 6.7\u2009% faster, but 1 other location is slower.');
  assert.equal(two.more, 'Setup takes 16\u2009% longer.');
  assert.equal(headline(diff(row({ verdict: 'REGRESSED', change: 0.1 }), setup)).title, 'Inference is 10\u2009% slower, and 1 other location is slower too.');
  assert.ok(headline(diff(row({ verdict: 'GONE', change: null }))).title.startsWith("Nothing occurs often enough"));
});

test('differences have a sign', () => {
  assert.equal(difference(row({ change: -0.1 })), '−2.00\u2009ms');
  assert.equal(difference(row({ change: 0.1 })), '+2.00\u2009ms');
  assert.equal(difference(row({})), '0');
});

test('what changed most is what is certain and large', () => {
  const rows = [row({ name: 'same', change: 0.3 }), row({ name: 'worse', verdict: 'REGRESSED', change: 0.06 }), row({ name: 'unsure', verdict: 'UNSURE', change: 0.2 })];
  assert.deepEqual(changedMost(rows, 2).map((one) => one.name), ['worse', 'unsure']);
});

test('the axis is logarithmic and even', () => {
  const axis = ratioAxis([0.9, 0.95, 1.1], 0.02);
  assert.equal(onAxis(axis, 1), 0.5);
  assert.ok(Math.abs(onAxis(axis, axis.most) - 1) < 1e-9 && Math.abs(onAxis(axis, 1 / axis.most)) < 1e-9);
  assert.ok(axis.marks.every((mark) => onAxis(axis, mark) >= 0 && onAxis(axis, mark) <= 1));
  assert.ok(onAxis(ratioAxis([1, 1, 1, 1, 1, 40], 0.05), 40) > 1, 'one that is far away does not squeeze the others');
});

test('names of models stay as they are', () => {
  const other = row({ model: 'ch_PP-OCRv4_cls', a: { count: 9, total_ns: 1, median_ns: 1, blocks: 1 } });
  assert.equal(headline(diff(row({ model: 'ch_PP-OCRv4_det', verdict: 'UNSURE', more: 12152 }), other)).title, 'Whether inference of ch_PP-OCRv4_det changed is not certain yet.');
  assert.equal(headline(diff(row({ verdict: 'UNSURE', more: 12152 }))).more, 'About 12,152 more on each side would decide.');
});

test('unsure: how many more there would have to be, or why it cannot be told', () => {
  assert.equal(needs(row({ verdict: 'UNSURE', change: null, more: 38 }), 100), 'needs 38 more');
  assert.equal(needs(row({ verdict: 'UNSURE', more: 6321 }), 100), 'needs about 6,321 more');
  assert.equal(needs(row({ verdict: 'UNSURE', too_fine: true, more: 5 }), 100), 'differs by less than 100\u2009ns');
  assert.equal(needs(row({ verdict: 'SAME' }), 100), '');
});

test('what all locations have in common is said', () => {
  const four = diff(row({}), row({}), row({}), row({}));
  assert.equal(inCommon(four), '');
  assert.ok(inCommon({ ...four, common_change: -0.172 }).startsWith('Half of all locations take 17\u2009% less'));
  assert.equal(inCommon({ ...diff(row({})), common_change: -0.172 }), '');
});

test('a trace is compared with the one whose command is most like its own', () => {
  const entry = (id: number, title: string): TraceEntry => ({ id, path: '', name: '', program: 'node', title, start: '', state: 'idle', why: '', bytes: 1, length_ns: 1, progress: 0 });
  const list = [entry(0, 'node ocr.js models 40'), entry(1, 'node -e 1'), entry(2, 'node ocr.js models 60'), entry(3, 'node vad.js')];
  assert.equal(partner(list, 2), 0);
  assert.equal(partner(list, 0), 2);
  assert.equal(partner([entry(4, 'x')], 4), 4);
});
