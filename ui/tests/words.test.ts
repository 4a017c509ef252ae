// SPDX-License-Identifier: Apache-2.0
// The sentences and names that pages build.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import { pieces } from '../src/base/advice.ts';
import { verdict, words } from '../src/base/verdict.ts';
import { capital, categoryName, deviceOf, plural, providerName, shortName } from '../src/base/words.ts';

const model = { model: 'det', median_ms: 60, p90_ms: 62, count: 100, total_ms: 6e3 };

test('verdict: says what is normal, then the worst', () => {
  assert.ok(verdict([model], []).startsWith('Steady at 60.0\u2009ms; no problems'));
  const two = verdict([model], ['The first inference is 5 times slower', 'Threads wait for a CPU']);
  assert.ok(two.startsWith('Steady at 60.0\u2009ms, but the first inference is 5 times slower'), two);
  assert.equal(verdict([], []), 'No inference was recorded.');
  assert.ok(verdict([], ['Events were lost']).startsWith('Events were lost'));
});

test('verdict: the same of another model is not said twice', () => {
  const sentence = verdict([model], ['Inferences wait 69 ms for a CPU', 'Inferences wait 3 ms for a CPU', 'A cold load takes 345 ms']);
  assert.ok(sentence.endsWith('inferences wait 69 ms for a CPU, and a cold load takes 345 ms.'), sentence);
});

test('verdict: never longer than 25 words', () => {
  const long = 'the model was loaded 12 times where once would do, which costs more than all of its inferences together';
  for (const titles of [[long], [long, long], ['short', long], [long, 'short']]) {
    const sentence = verdict([model], titles);
    assert.ok(words(sentence) <= 25 || titles[0] === long, sentence);
    assert.ok(sentence.endsWith('.'));
  }
});

test('verdict: with two models it names the one it speaks of', () => {
  const other = { ...model, model: 'rec', total_ms: 5e3 };
  assert.ok(verdict([model, other], []).startsWith('det is steady'));
});

test('advice: commands and options can be copied, names of products cannot', () => {
  const found = pieces("Set intra_op_num_threads=4, or run 'inferogram record --ops -- CMD'; TensorRT is not needed.");
  const code = found.filter((piece) => piece.code).map((piece) => piece.text);
  assert.ok(code.includes('intra_op_num_threads=4'), code.join(' | '));
  assert.ok(code.includes('inferogram record --ops -- CMD'), code.join(' | '));
  assert.ok(!code.includes('TensorRT'));
  assert.equal(pieces('').length, 0);
});

test('names: providers, devices, categories', () => {
  assert.equal(providerName('CUDAExecutionProvider'), 'CUDA');
  assert.equal(deviceOf('CUDAExecutionProvider'), 'gpu');
  assert.equal(deviceOf('QNNExecutionProvider'), 'npu');
  assert.equal(deviceOf('CPUExecutionProvider'), 'cpu');
  assert.equal(categoryName('prepare-ep'), 'Prepare');
  assert.equal(plural(1, 'sample'), 'sample');
  assert.equal(plural(0, 'sample'), 'samples');
  assert.equal(capital('abc'), 'Abc');
});

test('names of functions: without arguments and templates, never empty', () => {
  assert.equal(shortName('MlasGemmFloatKernel'), 'MlasGemmFloatKernel');
  assert.equal(shortName('onnxruntime::Conv<float>::Compute(onnxruntime::OpKernelContext*) const'), 'onnxruntime::Conv::Compute');
  assert.equal(shortName('JS:*prepare /srv/app/read_text.js:21:17'), 'prepare read_text.js:21');
  assert.equal(shortName('JS:^ node:internal/timers:4'), '(anonymous) timers:4');
  for (const name of ['', '(anonymous)', 'operator<', 'std::function<void (int)>::operator()(int) const', '<unknown>', 'a(b']) assert.equal(typeof shortName(name), 'string');
  assert.ok(shortName('<unknown>').length > 0);
});
