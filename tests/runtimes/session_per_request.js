// SPDX-License-Identifier: Apache-2.0
// A mistake that users make: a session for each request. node session_per_request.js RELU REQUESTS
'use strict';
const ort = require('onnxruntime-node');

async function handle(model, request) {
  const session = await ort.InferenceSession.create(model);
  const x = new ort.Tensor('float32', Float32Array.from([request, -1, 2, -3]), [1, 4]);
  const {y} = await session.run({x});
  return y.data[0];
}

async function main(model, requests) {
  let sum = 0;
  for (let request = 0; request < requests; request++) sum += await handle(model, request);
  console.log(`${requests} requests, ${sum}`);
}

main(process.argv[2], Number(process.argv[3]));
