// SPDX-License-Identifier: Apache-2.0
// Where is text on a page, and is it upside down? Two models over synthetic pages: node read_text.js MODELS [PAGES]
// MODELS is a folder with PaddleOCR's detection and direction models. An ordinary program: it knows nothing of
// Inferogram. docs/tour.md looks at a recording of it.
'use strict';
const path = require('node:path');
const ort = require('onnxruntime-node');

const SIZE = 320;

// Stripes that could be lines of text, in grey.
function page(number) {
  const grey = new Uint8Array(4 * SIZE * SIZE);
  for (let y = 0; y < 2 * SIZE; y++)
    for (let x = 0; x < 2 * SIZE; x++)
      grey[y * 2 * SIZE + x] = (y + number) % 40 < 12 && (x * 7 + y) % 11 < 5 ? 30 : 240;
  return grey;
}

// Half the size, and as the model wants it: three planes around zero.
function prepare(grey, width, height) {
  const image = new Float32Array(3 * width * height);
  for (let plane = 0; plane < 3; plane++) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        let sum = 0;
        for (let dy = -1; dy < 2; dy++)
          for (let dx = -1; dx < 2; dx++)
            sum += grey[Math.max(0, 2 * y + dy) * 2 * SIZE + Math.max(0, 2 * x + dx)] / 255;
        image[(plane * height + y) * width + x] = (sum / 9 - 0.5) / 0.25;
      }
    }
  }
  return new ort.Tensor('float32', image, [1, 3, height, width]);
}

async function main(folder, pages) {
  const options = {intraOpNumThreads: 1, logSeverityLevel: 3};
  const detection = await ort.InferenceSession.create(path.join(folder, 'ch_PP-OCRv4_det_infer.onnx'), options);
  const direction = await ort.InferenceSession.create(path.join(folder, 'ch_ppocr_mobile_v2.0_cls_infer.onnx'), options);
  let turned = 0;
  for (let number = 0; number < pages; number++) {
    const grey = page(number);
    await detection.run({[detection.inputNames[0]]: prepare(grey, SIZE, SIZE)});
    const found = await direction.run({[direction.inputNames[0]]: prepare(grey, 192, 48)});
    const [up, down] = found[direction.outputNames[0]].data;
    if (down > up) turned++;
  }
  console.log(`${pages} pages, ${turned} of them upside down`);
}

main(process.argv[2], Number(process.argv[3] ?? 40));
