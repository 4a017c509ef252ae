// SPDX-License-Identifier: Apache-2.0
// Detects speech in five synthetic clips with silero VAD: node voice_activity.js MODEL
// An ordinary program that does not know Inferogram; `make demo` records it. It has a common flaw on
// purpose: it creates a session for every clip.
'use strict';
const ort = require('onnxruntime-node');

const CLIPS = 5;
const FRAMES = 300; // of 32 ms
const FRAME = 512;

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

async function speechIn(model, clip) {
  const session = await ort.InferenceSession.create(model);
  const sr = new ort.Tensor('int64', BigInt64Array.from([16000n]), []);
  let state = new ort.Tensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  let highest = 0;
  for (let frame = 0; frame < FRAMES; frame++) {
    const input = new ort.Tensor('float32', audio(clip * FRAMES + frame), [1, FRAME]);
    const result = await session.run({input, state, sr});
    state = result.stateN;
    highest = Math.max(highest, result.output.data[0]);
  }
  return highest;
}

async function main(model) {
  let highest = 0;
  for (let clip = 0; clip < CLIPS; clip++) highest = Math.max(highest, await speechIn(model, clip));
  console.log(`${CLIPS} clips of audio, highest speech probability ${highest.toFixed(3)}`);
}

main(process.argv[2]);
