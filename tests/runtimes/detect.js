// SPDX-License-Identifier: Apache-2.0
// Finds text in a grey image, so many times, one after the other: node detect.js MODEL RUNS
'use strict';
const ort = require('onnxruntime-node');

async function main(model, runs) {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const image = new ort.Tensor('float32', new Float32Array(3 * 320 * 320).fill(0.3), [1, 3, 320, 320]);
  for (let i = 0; i < Number(runs); i++) await session.run({[session.inputNames[0]]: image});
}

main(process.argv[2], process.argv[3]);
