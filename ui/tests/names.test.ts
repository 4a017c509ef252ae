// SPDX-License-Identifier: Apache-2.0
import * as assert from 'node:assert/strict';
import { test } from 'node:test';
import { pieces } from '../src/base/advice.ts';
import { capital, deviceOf, plural, providerName, shortName, unbroken } from '../src/base/words.ts';

const code = (text: string) => pieces(text).filter((piece) => piece.code).map((piece) => piece.text);

test('options of an advice can be copied', () => {
  assert.deepEqual(code('wait without spinning: session.intra_op.allow_spinning=0 (ONNX Runtime), OMP_WAIT_POLICY=passive (OpenMP)'), ['session.intra_op.allow_spinning=0', 'OMP_WAIT_POLICY=passive']);
  assert.deepEqual(code('optimize once: SetOptimizedModelFilePath (Python: optimized_model_filepath), then ORT_DISABLE_ALL'), ['SetOptimizedModelFilePath', 'optimized_model_filepath', 'ORT_DISABLE_ALL']);
  assert.deepEqual(code("'inferogram query' has who ran when in thread_state"), ['inferogram query', 'thread_state']);
  assert.deepEqual(code('record with --lossless (the program waits instead)'), ['--lossless']);
  assert.deepEqual(code('MALLOC_TRIM_THRESHOLD_=1073741824'), ['MALLOC_TRIM_THRESHOLD_=1073741824']);
});

test('words and products are no options', () => {
  assert.deepEqual(code('record again while nothing else runs; TensorRT and OpenVINO have caches. Then measure.'), []);
});

test('no letter of an advice is lost', () => {
  for (const text of ['fewer threads (SetIntraOpNumThreads, intra_op_num_threads), or fewer programs', 'a.b', '', 'plain']) assert.equal(pieces(text).map((piece) => piece.text).join(''), text);
});

test('providers', () => {
  assert.equal(providerName('CUDAExecutionProvider'), 'CUDA');
  assert.equal(deviceOf('CUDAExecutionProvider'), 'gpu');
  assert.equal(deviceOf('QNNExecutionProvider'), 'npu');
  assert.equal(deviceOf('CPUExecutionProvider'), 'cpu');
});

test('long names of C++', () => {
  assert.equal(shortName('node::Start(int, char**)'), 'node::Start');
  assert.equal(shortName('std::vector<int, std::allocator<int> >::push_back(int const&)'), 'std::vector::push_back');
  assert.equal(shortName('v8impl::(anonymous namespace)::Wrapper::Invoke(v8::Info<v8::Value> const&)'), 'v8impl::(anonymous)::Wrapper::Invoke');
  assert.equal(shortName('onnxruntime::Upsample<float>::(virtual 2)'), 'onnxruntime::Upsample::(virtual 2)');
  assert.equal(shortName('libonnxruntime.so.1+0x1815690'), 'libonnxruntime.so.1+0x1815690');
  assert.equal(shortName('operator new(unsigned long)'), 'operator new');
  assert.equal(shortName('void mlas::Kernel<float>(float*)'), 'mlas::Kernel');
});

test('one and many', () => {
  assert.equal(plural(1, 'model'), 'model');
  assert.equal(plural(0, 'model'), 'models');
});

test('a sentence begins with a capital, a name does not get one', () => {
  assert.equal(capital('first inference 31 ms'), 'First inference 31 ms');
  assert.equal(capital('ch_PP-OCRv4_det_infer: 129 ms more'), 'ch_PP-OCRv4_det_infer: 129 ms more');
  assert.equal(capital('det: 129 ms more', 'det'), 'det: 129 ms more');
  assert.equal(capital('det.onnx was read'), 'det.onnx was read');
  assert.equal(capital('node (pid 607) used 40 % of a CPU'), 'node (pid 607) used 40 % of a CPU');
  assert.equal(capital('web server (pid 7) used 40 % of a CPU'), 'web server (pid 7) used 40 % of a CPU');
  assert.equal(capital('not interleaved'), 'Not interleaved');
  assert.equal(capital(''), '');
});

test('no line ends between a number and its unit', () => {
  assert.equal(unbroken('steal 0.2 %; 7 % of 2 CPUs, 12\u2009ms, 3 s'), 'steal 0.2\u202f%; 7\u202f% of 2\u202fCPUs, 12\u202fms, 3\u202fs');
  assert.equal(unbroken('2 models, 3 steps, 4 Bytes'), '2 models, 3 steps, 4 Bytes');
});
