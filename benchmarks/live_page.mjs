// SPDX-License-Identifier: Apache-2.0
// The memory of the live page in Chromium while a program makes many events a second: after collecting garbage, once a minute.
//   node benchmarks/live_page.mjs BUILD [MINUTES] [EVENTS_PER_SECOND]       defaults: 12, 100000
// The window is ten minutes, so memory must be flat from then on.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../ui/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const [build, minutes = '12', rate = '100000'] = process.argv.slice(2);
if (!build) {
  console.error('usage: node benchmarks/live_page.mjs BUILD [MINUTES] [EVENTS_PER_SECOND]');
  process.exit(2);
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const folder = mkdtempSync(join(tmpdir(), 'live-page-'));
const trace = join(folder, 'load.ifg');
const tool = process.env.INFEROGRAM ?? join(build, 'src/cli/inferogram');
const recorder = spawn(tool, ['record', '-q', '--no-sample', '-o', trace, '--', join(build, 'tests/live_events'), rate, String(minutes * 60 + 20)], { stdio: 'ignore' });
while (!existsSync(trace)) await sleep(20);
const server = spawn(tool, ['serve', '-q', '--live', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise((done) => createInterface({ input: server.stdout }).once('line', done));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
await page.goto(address);
const session = await page.context().newCDPSession(page);
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

for (let minute = 1; minute <= Number(minutes); minute++) {
  await sleep(60000);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const words = await page.evaluate(() => document.body.innerText.match(/Count\s*([\d,]+)/)?.[1] ?? '');
  console.log(`  minute ${String(minute).padStart(2)}  page ${(usedSize / 1e6).toFixed(2)} MB  server ${rss(server.pid).toFixed(1)} MB  inferences in 90 s ${words}`);
}
await browser.close();
server.kill('SIGINT');
recorder.kill('SIGINT');
await sleep(500);
rmSync(folder, { recursive: true, force: true });
