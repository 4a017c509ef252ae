// SPDX-License-Identifier: Apache-2.0
// Voice activity detection with silero VAD v5, as a program of a user: node vad.js MODEL FRAMES
// Prints the sum of the probabilities; the state is carried from frame to frame.
'use strict';
const ort = require('onnxruntime-node');

async function main(model, frames) {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  let state = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  let sum = 0;
  for (let frame = 0; frame < frames; frame++) {
    const audio = Float32Array.from({length: 512}, (_, i) => Math.sin((frame * 512 + i) * 0.1) * 0.5);
    const input = new ort.Tensor('float32', audio, [1, 512]);
    const result = await session.run({input, state, sr});
    state = result.stateN;
    sum += result.output.data[0];
  }
  console.log(`${frames} frames, ${sum.toFixed(6)}`);
}

main(process.argv[2], Number(process.argv[3]));
