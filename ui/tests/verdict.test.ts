// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { cost, verdict, words, type Usual } from '../src/base/verdict.ts';

const model = (change: Partial<Usual> = {}): Usual => ({ model: 'det', median_ms: 21.4, p90_ms: 23.9, count: 952, total_ms: 40000, ...change });
const plain = (text: string) => text.replaceAll('\u2009', ' ');

test('what is normal, then the worst, then the next', () => {
  assert.equal(plain(verdict([model()], ['44 % of the CPU time is spent busy-waiting', 'inferences wait 22.7 ms for a CPU'])), 'Steady at 21.4 ms, but 44 % of the CPU time is spent busy-waiting, and inferences wait 22.7 ms for a CPU.');
});

test('it is not called steady when it is not', () => {
  assert.equal(plain(verdict([model({ p90_ms: 40 })], [])), 'Median 21.4 ms; no problems found.');
  assert.equal(plain(verdict([model({ count: 3 })], [], 1)), 'Median 21.4 ms; only minor findings.');
});

test('a model that does not dominate is named', () => {
  assert.ok(/^det is steady at 21\.4 ms/.test(plain(verdict([model(), model({ model: 'cls', total_ms: 39000 })], []))));
  assert.ok(/^Steady at 21\.4 ms/.test(plain(verdict([model(), model({ model: 'cls', total_ms: 100 })], []))));
});

test('at most 25 words', () => {
  const long = 'one two three four five six seven eight nine ten eleven twelve, thirteen fourteen fifteen';
  const text = verdict([model()], [long, 'a b c d e f g h i j k l, m n o p']);
  assert.ok(words(text) <= 25, text);
  assert.ok(/fifteen\.$/.test(text));
  assert.ok(/and a cold load takes 179 ms\.$/.test(verdict([model()], ['one thing is wrong', 'a cold load takes 179 ms, 127 ms of it for what takes so very many words to say here again'])));
});

test('a number with its unit is one word', () => {
  assert.equal(words('waits 22.7\u2009ms of 49.9 ms, 45 %'), 5);
});

test('no model at all', () => {
  assert.equal(verdict([], []), 'No inference was recorded.');
  assert.equal(verdict([], ['other programs used 1.80 of 2 CPUs']), 'Other programs used 1.80 of 2 CPUs.');
});

test('names of things keep their case', () => {
  assert.ok(/but CUDAExecutionProvider was/.test(verdict([model()], ['CUDAExecutionProvider was requested, is not in this build'])));
  assert.ok(/but an inference/.test(verdict([model()], ['An inference has not returned'])));
});

test('what a finding costs', () => {
  assert.deepEqual(cost('cold-start', { load_ms: 302, specialization_ms: 236, startup_ms: 472 }), { amount: '236\u2009ms', of: 'per start' });
  assert.deepEqual(cost('cold-start', { load_ms: 302, specialization_ms: null }), { amount: '302\u2009ms', of: 'per start' });
  assert.deepEqual(cost('spinning', { share: 0.44 }), { amount: '44\u2009%', of: 'of the CPU time' });
  assert.deepEqual(cost('something-new', {}), { amount: '', of: '' });
});
