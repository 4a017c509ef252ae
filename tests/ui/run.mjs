// SPDX-License-Identifier: Apache-2.0
// Runs NAME.test.mjs of this folder for each argument (none: all) with one browser and two servers, a few tests at a time, and prints TAP.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Served, TRACES, finish, launch, ok, soon } from './lib.mjs';

const LONGEST_MS = 300000; // on a machine that has other things to do
const AT_ONCE = 3; // they mostly wait
const wanted = process.argv.slice(2);
const here = new URL('.', import.meta.url);
const browser = await launch();
const one = await Served.start(join(TRACES, 'ocr.ifg'));
const many = await Served.start(TRACES);
const waiting = [];
for (const file of readdirSync(here).filter((name) => name.endsWith('.test.mjs') && (!wanted.length || wanted.includes(name.replace('.test.mjs', '')))).sort()) {
  const { default: tests } = await import(new URL(file, here));
  for (const [name, body] of Object.entries(tests)) waiting.push([`${file.replace('.test.mjs', '')}: ${name}`, body]);
}

async function work() {
  for (;;) {
    const [name, body] = waiting.shift() ?? [];
    if (!body) return;
    const began = Date.now();
    try {
      if ((await soon(Promise.resolve(body({ browser, one, many })).then(() => true), LONGEST_MS)) === false) throw new Error('it does not end');
    } catch (trouble) {
      ok(false, name, trouble.stack ?? trouble);
    }
    console.log(`# ${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
}

try {
  await Promise.all(Array.from({ length: AT_ONCE }, work));
} finally {
  if ((await soon(browser.close().then(() => true))) === false) console.log('# the browser did not end in time');
  await one.stop();
  await many.stop();
}
process.exit(finish());
