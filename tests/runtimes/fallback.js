// SPDX-License-Identifier: Apache-2.0
// Asks for CUDA, catches the error, and goes on with the CPU: node fallback.js RELU
'use strict';
const ort = require('onnxruntime-node');

async function main(model) {
  let session;
  try {
    session = await ort.InferenceSession.create(model, {executionProviders: ['cuda']});
  } catch (error) {
    console.log('caught');
    session = await ort.InferenceSession.create(model, {executionProviders: ['cpu']});
  }
  await session.run({x: new ort.Tensor('float32', new Float32Array(4), [1, 4])});
}

main(process.argv[2]);
