// SPDX-License-Identifier: Apache-2.0
// Runs tests/ui/*.test.mjs (those whose name has the argument in it; with ! before it: the others) with one browser and two servers, a few at a time, and prints TAP.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Served, TRACES, finish, launch, ok } from './lib.mjs';

const AT_ONCE = 3; // they mostly wait
const word = process.argv[2] ?? '';
const isWanted = (name) => (word.startsWith('!') ? !name.includes(word.slice(1)) : name.includes(word));
const here = new URL('.', import.meta.url);
const browser = await launch();
const one = await Served.start(join(TRACES, 'ocr.ifg'));
const many = await Served.start(TRACES);
const waiting = [];
for (const file of readdirSync(here).filter((name) => name.endsWith('.test.mjs') && isWanted(name)).sort()) {
  const { default: tests } = await import(new URL(file, here));
  for (const [name, body] of Object.entries(tests)) waiting.push([`${file.replace('.test.mjs', '')}: ${name}`, body]);
}

async function work() {
  for (;;) {
    const [name, body] = waiting.shift() ?? [];
    if (!body) return;
    const began = Date.now();
    try {
      await body({ browser, one, many });
    } catch (trouble) {
      ok(false, name, trouble.stack ?? trouble);
    }
    console.log(`# ${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
}

try {
  await Promise.all(Array.from({ length: AT_ONCE }, work));
} finally {
  await browser.close();
  await one.stop();
  await many.stop();
}
process.exit(finish());
