// SPDX-License-Identifier: Apache-2.0
// Is somebody speaking? silero VAD over made-up audio, in frames of 32 ms: node voice_activity.js MODEL
// An ordinary program: it knows nothing of Inferogram. `make demo` records it.
'use strict';
const ort = require('onnxruntime-node');

const FRAME = 512;
const FRAMES = 1500;

// Two seconds of hum, two seconds of something with the pulse of a voice, and so on.
function audio(frame) {
  const speaking = Math.floor(frame / 62) % 2 === 1;
  return Float32Array.from({length: FRAME}, (_, i) => {
    const t = (frame * FRAME + i) / 16000;
    const hum = 0.01 * Math.sin(2 * Math.PI * 50 * t);
    const voice = Math.sin(2 * Math.PI * 140 * t + 3 * Math.sin(2 * Math.PI * 4 * t));
    return speaking ? hum + 0.4 * voice * Math.abs(Math.sin(2 * Math.PI * 3 * t)) : hum;
  });
}

async function main(model) {
  const session = await ort.InferenceSession.create(model);
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  let state = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  let loudest = 0;
  for (let frame = 0; frame < FRAMES; frame++) {
    const input = new ort.Tensor('float32', audio(frame), [1, FRAME]);
    const result = await session.run({input, state, sr});
    state = result.stateN;
    loudest = Math.max(loudest, result.output.data[0]);
  }
  console.log(`${FRAMES} frames of audio, highest speech probability ${loudest.toFixed(3)}`);
}

main(process.argv[2]);
