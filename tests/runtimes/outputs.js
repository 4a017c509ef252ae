// SPDX-License-Identifier: Apache-2.0
// Voice activity detection that prints what each frame gives: node outputs.js MODEL FRAMES
// A line for each output: its name, and its bytes in hexadecimal.
'use strict';
const ort = require('onnxruntime-node');

async function main(model, frames) {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  let state = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  for (let frame = 0; frame < frames; frame++) {
    const audio = Float32Array.from({length: 512}, (_, i) => Math.sin((frame * 512 + i) * 0.1) * 0.5);
    const result = await session.run({input: new ort.Tensor('float32', audio, [1, 512]), state, sr});
    state = result.stateN;
    for (const name of session.outputNames) {
      const {buffer, byteOffset, byteLength} = result[name].data;
      console.log(name, Buffer.from(buffer, byteOffset, byteLength).toString('hex'));
    }
  }
}

main(process.argv[2], Number(process.argv[3]));
