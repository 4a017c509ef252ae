// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of docs/tour.md: node tests/ui/tour.mjs INFEROGRAM DEMO READ_TEXT DIRECTORY
// tools/tour-pictures records the two traces and runs this. Each step is a click that the tour describes; where one does not
// lead where the tour says, this ends with an error.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

const [tool, demo, readText, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node tests/ui/tour.mjs INFEROGRAM DEMO READ_TEXT DIRECTORY');
  process.exit(2);
}
process.env.INFEROGRAM = tool;
const { Served, Tab, launch } = await import('./lib.mjs');
const LIMIT = 150000; // bytes of a picture
const OFTEN = 128;

const TABLE = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});
function crc(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
function chunk(name, data) {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(name, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc(whole.subarray(4, 8 + data.length)), 8 + data.length);
  return whole;
}

/** Chromium's pictures have three bytes a pixel. These have few colours: 256 of a palette are a third of the size. */
function toPalette(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const step = png[25] === 6 ? 4 : 3;
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(parts));
  const line = width * step;
  const pixels = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (line + 1)];
    for (let i = 0; i < line; i++) {
      const left = i >= step ? pixels[y * line + i - step] : 0;
      const up = y ? pixels[(y - 1) * line + i] : 0;
      const corner = y && i >= step ? pixels[(y - 1) * line + i - step] : 0;
      const guess = left + up - corner;
      const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
      const add = [0, left, up, (left + up) >> 1, a <= b && a <= c ? left : b <= c ? up : corner][filter];
      pixels[y * line + i] = raw[y * (line + 1) + 1 + i] + add;
    }
  }
  // colours that are seen often stay as they are; the others become the nearest one
  const counts = new Map();
  const key = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += step) counts.set(key(at), (counts.get(key(at)) ?? 0) + 1);
  const away = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const order = [...counts.entries()].sort((a, b) => b[1] - a[1]);
  const palette = order.slice(0, OFTEN).map(([colour]) => colour);
  // then those that are farthest from all of these: a small spot of a colour of its own keeps it
  const rest = order.slice(OFTEN).map(([colour, n]) => ({ colour, n, least: Math.min(...palette.map((other) => away(colour, other))) }));
  while (palette.length < 256 && rest.length) {
    const next = rest.reduce((best, one) => (one.least * Math.sqrt(one.n) > best.least * Math.sqrt(best.n) ? one : best));
    if (next.least === 0) break;
    palette.push(next.colour);
    for (const one of rest) one.least = Math.min(one.least, away(one.colour, next.colour));
  }
  const nearest = new Map(palette.map((colour, i) => [colour, i]));
  const find = (colour) => {
    let best = 0;
    let least = Infinity;
    palette.forEach((other, i) => {
      if (away(colour, other) < least) [least, best] = [away(colour, other), i];
    });
    nearest.set(colour, best);
    return best;
  };
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = nearest.get(key((y * width + x) * step)) ?? find(key((y * width + x) * step));
  const head = Buffer.from(png.subarray(16, 29));
  head[8] = 8;
  head[9] = 3;
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([png.subarray(0, 8), chunk('IHDR', head), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

const browser = await launch();
let served = await Served.start(demo);
process.on('exit', () => served.child.kill()); // also when a step fails
let tab = await Tab.open(browser, served, 'theme=light', { viewport: { width: 1440, height: 900 } });
let { page } = tab;

async function picture(name) {
  await tab.settle();
  await page.mouse.move(720, 2);
  await page.waitForTimeout(200);
  const file = join(out, `${name}.png`);
  await page.screenshot({ path: file });
  writeFileSync(file, toPalette(readFileSync(file)));
  const { size } = statSync(file);
  console.log(`${file} ${size}`);
  if (size > LIMIT) throw new Error(`${file} has more than ${LIMIT} bytes`);
}
/** The first screen again, as somebody sees it who has just opened the address. */
const summary = async () => {
  await page.goto('about:blank');
  await page.goto(`${served.address}&theme=light`);
  await page.waitForSelector('.models-table');
};

await page.waitForSelector('.models-table tr.big');
await picture('1-summary');
// when: a click on the row of the inferences
await page.locator('.models-table tr', { hasText: 'Inference' }).first().click();
await page.waitForSelector('.details-facts');
await picture('2-timeline');
// what happened in it: a click on Show of a finding
await summary();
await page.locator('.finding', { hasText: 'is loaded 5 times' }).getByRole('button', { name: 'Show' }).first().click();
await page.waitForSelector('.lane-label');
await picture('3-finding');
// which operator: the other recording has them
await page.close();
await served.stop();
served = await Served.start(readText);
tab = await Tab.open(browser, served, 'theme=light', { viewport: { width: 1440, height: 900 } });
page = tab.page;
await summary();
await page.getByRole('button', { name: 'All operators' }).click();
await page.waitForSelector('.vtable-row');
await picture('4-operators');
// which line: the page Source begins with the hottest function that has lines
await summary();
await page.locator('.tab:text-is("Source")').click();
await page.waitForSelector('.code-line.on');
await tab.settle();
const own = page.locator('.functions button:text-is("prepare")');
if ((await own.count()) && (await own.getAttribute('aria-current')) !== 'true') await own.click();
await page.waitForSelector('.code-line.on');
await picture('5-source');
// more: a range, sampled calls, dark
await summary();
await page.locator('.tab:text-is("Timeline")').click();
await page.waitForSelector('.lane-label');
const meta = await served.json('meta');
const thread = meta.tracks.filter((track) => track.kind === 'thread').sort((a, b) => b.samples - a.samples)[0];
const inference = (await served.slices('ml', meta.length_ns * 0.5, meta.length_ns * 0.8, 4000)).filter((slice) => meta.locations[slice.location].category === 'inference').sort((a, b) => b.duration - a.duration)[0];
const [from, to] = [Math.round(inference.start - inference.duration * 0.5), Math.round(inference.start + inference.duration * 1.3)];
await page.evaluate((hash) => (location.hash = hash), `page=timeline&theme=dark&t0=${from}&t1=${to}&range=${Math.round(inference.start)}-${Math.round(inference.start + inference.duration)}`);
await tab.settle();
await page.locator(`[data-track="${thread.id}"] .samples`).click();
await tab.settle();
await page.locator(`[data-track="${thread.id}"]`).evaluate((label) => label.closest('.lanes').scrollTo(0, label.offsetTop - 60));
await picture('6-samples');
await browser.close();
await served.stop();
