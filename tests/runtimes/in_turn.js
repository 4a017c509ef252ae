// SPDX-License-Identifier: Apache-2.0
// Voice activity detection that goes on until its input ends: node in_turn.js MODEL [array]
// At the end it prints the sum of the probabilities over the first 50 inferences, which is always the same. The
// batch grows by one from inference to inference, from 1 to 13 and again: one that is missed is seen.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

async function main(model, how) {
  const source = how === 'array' ? fs.readFileSync(model) : model;
  const session = await ort.InferenceSession.create(source, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  let going = true;
  let count = 0;
  let sum = 0;
  process.stdin.on('end', () => going = false).resume();
  console.log('ready');
  while (going || count < 50) {
    const batch = 1 + count % 13;
    const audio = Float32Array.from({length: 512 * batch}, (_, i) => Math.sin((count * 512 + i) * 0.1) * 0.5);
    const input = new ort.Tensor('float32', audio, [batch, 512]);
    const state = new ort.Tensor('float32', new Float32Array(2 * 128 * batch), [2, batch, 128]);
    const result = await session.run({input, state, sr});
    if (count++ < 50) sum += result.output.data[0];
    if (count % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  console.log(`end ${sum.toFixed(6)}`);
}

main(process.argv[2], process.argv[3]);
