// SPDX-License-Identifier: Apache-2.0
// How the page feels with a large trace: from the command to the first useful picture, and how long frames take while one zooms and
// pans, in headless Chromium with software rendering at 1600 x 900.
//   node benchmarks/page_frames.mjs INFEROGRAM TRACE [--json]
// A frame is the time between two calls of requestAnimationFrame while every frame gets a wheel or a drag event; the page draws, asks the
// server for more detail, and draws again when it comes. Complete is what one picture costs: the drawing, and reading a pixel back,
// which waits until everything that was drawn is there.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(new URL('../ui/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const [tool, trace, ...flags] = process.argv.slice(2);
if (!tool || !trace) {
  console.error('usage: node benchmarks/page_frames.mjs INFEROGRAM TRACE [--json]');
  process.exit(2);
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
await page.goto('about:blank');
const began = performance.now();
const server = spawn(tool, ['serve', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise((resolve) => createInterface({ input: server.stdout }).once('line', resolve));
await page.goto(`${address}&page=timeline`);
// useful: the threads' slices are there, not only the frame around them
await page.waitForFunction(() => performance.getEntriesByType('resource').some((entry) => entry.name.includes('/api/t/0/lod') && entry.responseEnd > 0));
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const first = performance.now() - began;

const frames = async (kind) =>
  page.evaluate(async (what) => {
    const canvas = document.querySelector('canvas.tracks');
    const box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + box.width * 0.4, clientY: box.top + box.height * 0.5, bubbles: true, cancelable: true };
    const times = [];
    const complete = [];
    const canvases = [...document.querySelectorAll('.timeline canvas')];
    let last = await new Promise((done) => requestAnimationFrame(done));
    for (let i = 0; i < 120; i++) {
      const way = Math.floor(i / 30) % 2 ? 1 : -1;
      if (what === 'zoom') canvas.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: way * 60 }));
      else canvas.dispatchEvent(new WheelEvent('wheel', { ...at, deltaX: way * 40, shiftKey: true }));
      const now = await new Promise((done) => requestAnimationFrame(done));
      times.push(now - last);
      last = now;
      const began = performance.now();
      canvas.getContext('2d').getImageData(0, 0, 1, 1);
      complete.push(performance.now() - began + canvases.reduce((sum, one) => sum + Number(one.dataset.drawMs ?? 0), 0));
    }
    return { times, complete };
  }, kind);
const quantile = (values, p) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * p))];
const results = { first_paint_s: first / 1000 };
for (const kind of ['zoom', 'pan']) {
  const { times, complete } = await frames(kind);
  results[`${kind}_p50_ms`] = quantile(times, 0.5);
  results[`${kind}_p95_ms`] = quantile(times, 0.95);
  results[`${kind}_complete_p50_ms`] = quantile(complete, 0.5);
  results[`${kind}_complete_p95_ms`] = quantile(complete, 0.95);
}
results.server_peak_mib = Number(readFileSync(`/proc/${server.pid}/status`, 'ascii').match(/VmHWM:\s+(\d+)/)[1]) / 1024;
results.load = Number(readFileSync('/proc/loadavg', 'ascii').split(' ')[0]);
await browser.close();
server.kill('SIGINT');
if (flags.includes('--json')) console.log(JSON.stringify({ benchmark: 'page_frames', ...results }));
else for (const [key, value] of Object.entries(results)) console.log(`  ${key.padEnd(24)} ${value.toFixed(2)}`);
