// SPDX-License-Identifier: Apache-2.0
// Runs that fail: every second one has an input of a wrong shape. node error.js RELU COUNT
// The exit status is the number of failures.
'use strict';
const ort = require('onnxruntime-node');

async function main(model, count) {
  const session = await ort.InferenceSession.create(model);
  let failures = 0;
  for (let i = 0; i < count; i++) {
    const columns = i % 2 ? 5 : 4;
    const x = new ort.Tensor('float32', new Float32Array(columns), [1, columns]);
    try {
      await session.run({x});
    } catch (error) {
      failures++;
      console.log(error.message);
    }
  }
  process.exitCode = failures;
}

main(process.argv[2], Number(process.argv[3]));
