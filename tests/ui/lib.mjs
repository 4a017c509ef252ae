// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: a server, a browser, points in TAP, the API read without the page's own code.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';

const require = createRequire(new URL('../../ui/package.json', import.meta.url));
const { chromium } = require('playwright-core');

export const TRACES = process.env.UI_TRACES ?? '.';
export const SHOTS = process.env.UI_SHOTS ?? '.';
const TOOL = process.env.INFEROGRAM ?? 'inferogram';
/** For work on the page: its files from here, not those in the program. */
const DIST = process.env.UI_DIST ?? '';
/** Longer than anything here takes, also on a machine that has other things to do: only what is broken waits so long. */
const LIMIT_MS = 60000;
/** Longer than the longest timer with which the page waits for more of the same. */
const PAGE_TIMERS_MS = 160;

// ---- points

let number = 0;
let failed = 0;
const show = (value) => JSON.stringify(value)?.slice(0, 600) ?? String(value);

export function ok(good, name, why = '') {
  number++;
  if (!good) {
    failed++;
    for (const line of String(why || 'not so').split('\n')) console.log(`# ${line}`);
  }
  console.log(`${good ? 'ok' : 'not ok'} ${number} - ${name.replaceAll('#', 'no. ')}`);
  return good;
}
export const is = (got, wanted, name) => ok(isDeepStrictEqual(got, wanted), name, `got      ${show(got)}\nexpected ${show(wanted)}`);
export const near = (got, wanted, within, name) => ok(Math.abs(got - wanted) <= within, name, `got ${got}, expected ${wanted} within ${within}`);
export const contains = (text, part, name) => ok(String(text).includes(part), name, `got   ${show(text)}\nlacks ${show(part)}`);

export function finish() {
  console.log(`1..${number}`);
  return failed ? 1 : 0;
}

/** Reads again until it is good; the last value that was read. What a click or a key does need not be there at once. */
export async function eventually(read, isGood, ms = LIMIT_MS / 2) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await read();
    if (isGood(value) || Date.now() > end) return value;
    await new Promise((resume) => setTimeout(resume, 40));
  }
}
export const becomes = async (read, wanted, name) => is(await eventually(read, (value) => isDeepStrictEqual(value, wanted)), wanted, name);
export const comesToContain = async (read, part, name) => contains(await eventually(read, (value) => String(value).includes(part)), part, name);
export const comesTrue = async (read, name, why = () => '') => {
  const good = await eventually(read, Boolean);
  return ok(good, name, good ? '' : await why());
};

/** False if it takes longer than anything here should. */
export const soon = (promise, ms = LIMIT_MS) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, false).unref())]);

// ---- the server

export class Served {
  static async start(...paths) {
    const child = spawn(TOOL, ['serve', '-q', ...paths], { stdio: ['ignore', 'pipe', 'inherit'] });
    const address = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', (status) => reject(new Error(`serve ended with ${status}`)));
    });
    return new Served(child, address);
  }

  constructor(child, address) {
    this.child = child;
    this.address = address;
    this.origin = address.split('/#')[0];
    this.token = address.split('token=')[1];
  }

  async get(path, trace = 0) {
    const where = path.startsWith('/') ? path : `/api/t/${trace}/${path}`;
    for (;;) {
      const answer = await fetch(this.origin + where, { headers: { Authorization: `Bearer ${this.token}` } });
      if (answer.status !== 503) return answer;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
  json = async (path, trace = 0) => (await this.get(path, trace)).json();

  /** Slices of a track as objects. */
  async slices(track, from, to, px, trace = 0) {
    const bytes = await (await this.get(`lod?track=${track}&t0=${Math.floor(from)}&t1=${Math.ceil(to)}&px=${px}`, trace)).arrayBuffer();
    const view = new DataView(bytes);
    const n = view.getUint32(8, true);
    let at = 32;
    const column = (size) => {
      const here = at;
      at += Math.ceil((size * n) / 8) * 8;
      return here;
    };
    const [start, duration, location, merged, id, row, flags] = [8, 4, 4, 4, 4, 2, 1].map(column);
    return Array.from({ length: n }, (_, i) => ({
      start: view.getFloat64(start + i * 8, true), duration: view.getFloat32(duration + i * 4, true), location: view.getUint32(location + i * 4, true),
      merged: view.getUint32(merged + i * 4, true), id: view.getUint32(id + i * 4, true), row: view.getUint16(row + i * 2, true), flags: view.getUint8(flags + i),
    }));
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once('exit', () => resolve(true)));
    this.child.kill('SIGINT');
    if (await soon(ended)) return;
    ok(false, 'the server ends on Ctrl-C');
    this.child.kill('SIGKILL');
  }
}

// ---- the browser

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'] });
}

/** A page with what it asked for, and what went wrong in it. */
export class Tab {
  requests = [];
  troubles = [];
  /** Requests that have no answer yet. */
  waiting = new Set();
  expectTrouble = false;

  /** With nothing in it. */
  static async blank(browser, context) {
    const tab = new Tab();
    tab.context = await browser.newContext({ viewport: { width: 1600, height: 900 }, reducedMotion: 'reduce', colorScheme: 'light', ...context });
    tab.page = await tab.context.newPage();
    tab.page.setDefaultTimeout(LIMIT_MS);
    tab.page.on('request', (request) => {
      tab.requests.push(request.url());
      if (/^http:/.test(request.url()) && !request.url().endsWith('/api/live/stream')) tab.waiting.add(request); // which has no end
    });
    for (const end of ['requestfinished', 'requestfailed']) tab.page.on(end, (request) => tab.waiting.delete(request));
    tab.page.on('pageerror', (error) => tab.troubles.push(error.message));
    // 503: the trace is still being read, and the page asks again
    tab.page.on('console', (message) => message.type() === 'error' && !message.text().includes('503') && tab.troubles.push(message.text()));
    return tab;
  }

  static async open(browser, served, fragment = '', options = {}) {
    const { expectTrouble, wait, ...context } = options;
    const tab = await Tab.blank(browser, context);
    tab.served = served;
    tab.expectTrouble = expectTrouble ?? false;
    if (DIST) for (const [file, contentType] of [['app.js', 'text/javascript'], ['app.css', 'text/css']]) await tab.page.route(`**/${file}`, (route) => route.fulfill({ contentType, path: join(DIST, file) }));
    await tab.page.goto(fragment.startsWith('http') ? fragment : served.address + (fragment ? `&${fragment}` : ''));
    await tab.page.waitForSelector(wait ?? '.frame');
    return tab;
  }

  /** No request to anybody else, no error in the console. */
  async close(name) {
    const elsewhere = this.requests.filter((url) => !url.startsWith(`${this.served.origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:'));
    is(elsewhere, [], `${name}: no request to anybody else`);
    if (!this.expectTrouble) is(this.troubles, [], `${name}: no error in the page`);
    await this.context.close();
  }

  /** Until the page has drawn what it was told before. On the page's own clock: a page that gets no CPU is waited for. */
  drawn = (ms = 0) => this.page.evaluate((pause) => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), pause)), ms);

  /** Until nothing is asked for any more and the address was written: all timers of the page were due, and nothing came of it. */
  async settle() {
    const end = Date.now() + LIMIT_MS;
    const seen = async () => `${this.requests.length} ${await this.page.evaluate(() => location.hash)}`;
    for (let before = await seen(); Date.now() < end; ) {
      const wasWaiting = this.waiting.size;
      await this.drawn(PAGE_TIMERS_MS);
      const now = await seen();
      if (now === before && !wasWaiting && !this.waiting.size) return;
      before = now;
    }
  }

  fragment = async () => new URLSearchParams((await this.page.evaluate(() => location.hash)).slice(1));
  /** What the address says is shown. */
  async view() {
    await this.settle();
    const parts = await this.fragment();
    return parts.has('t0') ? { from: Number(parts.get('t0')), to: Number(parts.get('t1')) } : null;
  }
  async part(name) {
    await this.settle();
    return (await this.fragment()).get(name);
  }
  css = (variable) => this.page.evaluate((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(), variable);
  box = (selector) => this.page.locator(selector).first().boundingBox();
  /** Where a track is on the canvas. */
  lane = (track) =>
    this.page.evaluate((id) => {
      const label = document.querySelector(`[data-track="${id}"]`);
      const canvas = document.querySelector('canvas.tracks');
      if (!label || !canvas) return null;
      const [a, b] = [label.getBoundingClientRect(), canvas.getBoundingClientRect()];
      return { top: a.top - b.top, height: a.height, left: b.left, canvasTop: b.top, width: b.width };
    }, track);
  tracks = () => this.page.$$eval('.lane-label', (labels) => labels.map((label) => label.dataset.track));
  /** Colours of points of the tracks' canvas, as #rrggbb. */
  colours = (points) =>
    this.page.evaluate((list) => {
      const context = document.querySelector('canvas.tracks').getContext('2d');
      const ratio = devicePixelRatio;
      return list.map(([x, y]) => '#' + [...context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3).map((v) => v.toString(16).padStart(2, '0')).join(''));
    }, points);
  shot = (name) => this.page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

export const hex = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
/** Largest difference of a channel. */
export const apart = (a, b) => Math.max(...hex(a).map((value, i) => Math.abs(value - hex(b)[i])));
