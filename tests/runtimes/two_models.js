// SPDX-License-Identifier: Apache-2.0
// Two models in one process, in turn; the second comes from memory:
// node two_models.js SILERO_V5 RELU COUNT
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

async function main(silero, relu, count) {
  const first = await ort.InferenceSession.create(silero, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const second = await ort.InferenceSession.create(fs.readFileSync(relu));
  const inputs = {
    input: new ort.Tensor('float32', new Float32Array(512).fill(0.25), [1, 512]),
    state: new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]),
    sr: new ort.Tensor('int64', BigInt64Array.from([16000n]), []),
  };
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const vad = await first.run(inputs);
    const x = new ort.Tensor('float32', Float32Array.from([i, -i, vad.output.data[0], 1]), [1, 4]);
    const {y} = await second.run({x});
    sum += y.data.reduce((a, b) => a + b, 0);
  }
  console.log(`${count} rounds, ${sum.toFixed(6)}`);
}

main(process.argv[2], process.argv[3], Number(process.argv[4]));
