// SPDX-License-Identifier: Apache-2.0
// Voice activity detection until SIGTERM, with an account of every run: node steady.js MODEL LOG
// Says "ready" when the model is loaded. At the end each line of LOG is "PID 0 START END": CLOCK_MONOTONIC ns.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

async function main(model, log) {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  const input = new ort.Tensor('float32', new Float32Array(512).fill(0.25), [1, 512]);
  let state = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  const times = [];
  let ended = false;
  process.on('SIGTERM', () => ended = true);
  console.log(`ready ${process.pid}`);
  while (!ended) {
    const start = process.hrtime.bigint();
    state = (await session.run({input, state, sr})).stateN;
    times.push([start, process.hrtime.bigint()]);
    if (times.length % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  fs.writeFileSync(log, times.map(([start, end]) => `${process.pid} 0 ${start} ${end}\n`).join(''));
}

main(process.argv[2], process.argv[3]);
