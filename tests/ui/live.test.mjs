// SPDX-License-Identifier: Apache-2.0
// The live page with a program that runs: the table follows or stays, bars and rows select each other, pause, the end, a server that goes away.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Served, Tab, contains, is, ok } from './lib.mjs';

const TOOL = process.env.INFEROGRAM ?? 'inferogram';
const PROGRAM = new URL('../../examples/read_text.js', import.meta.url).pathname;
const MODELS = (process.env.UI_BENCH_MODEL ?? '').replace(/\/[^/]*$/, '');
const INFERENCE = 4;
const SECOND = 1e9;
// as draw/bars.ts has it
const LEFT = 52;
const RIGHT = 14;
const WINDOW = 90;

/** A recording that goes on until the test ends it. */
async function begin() {
  const child = spawn(TOOL, ['live', '--web', '-q', '--no-sample', '--', 'node', PROGRAM, MODELS, '1000000'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => line.startsWith('http') && resolve(line));
    child.once('exit', (status) => reject(new Error(`live ended with ${status}`)));
  });
  const served = new Served(child, address);
  served.state = () => served.json('/api/live/state');
  return served;
}

const chip = (tab) => tab.page.locator('.activity-head .chip').innerText();
const lastRow = (tab) => tab.page.locator('.activity-rows .activity-row').last().innerText();
const firstSeen = (tab) =>
  tab.page.evaluate(() => {
    const body = document.querySelector('.activity-body');
    const top = body.getBoundingClientRect().top;
    return [...body.querySelectorAll('.activity-row')].find((row) => row.getBoundingClientRect().bottom > top + 2)?.textContent;
  });
const isAtEnd = (tab) => tab.page.$eval('.activity-body', (body) => body.scrollTop + body.clientHeight >= body.scrollHeight - 4);
const until = (tab, text) => tab.page.waitForFunction((wanted) => document.querySelector('.activity-head .chip')?.textContent.includes(wanted), text);

async function follows(tab, served) {
  contains(await chip(tab), 'Following', 'it follows at first');
  const before = await lastRow(tab);
  await tab.page.waitForFunction((old) => [...document.querySelectorAll('.activity-rows .activity-row')].at(-1).innerText !== old, before);
  ok(await isAtEnd(tab), 'the newest row is seen');

  await tab.page.waitForFunction(() => document.querySelector('.activity-body').scrollHeight > document.querySelector('.activity-body').clientHeight * 2);
  await tab.page.locator('.activity-body').hover();
  await tab.page.mouse.wheel(0, -400);
  await until(tab, 'Not following');
  const kept = await firstSeen(tab);
  const { totals } = await served.state();
  while ((await served.state()).totals.events < totals.events + 20) await tab.page.waitForTimeout(50);
  await tab.page.waitForTimeout(250);
  is(await firstSeen(tab), kept, 'scrolled up, what is read stays where it is');
  ok(!(await isAtEnd(tab)), 'and the table does not follow');
  await tab.page.getByRole('button', { name: /^Now/ }).click();
  await until(tab, '● Following');
  ok(await isAtEnd(tab), 'Now follows again');
  ok((await lastRow(tab)) !== kept, 'with the newest row');
}

async function pauses(tab, served) {
  await tab.page.locator('h2:has-text("Activity")').click();
  await tab.page.keyboard.press('Space');
  await until(tab, 'Paused');
  const before = [await lastRow(tab), await tab.page.locator('.live-clock').innerText()];
  const { totals } = await served.state();
  while ((await served.state()).totals.events < totals.events + 10) await tab.page.waitForTimeout(50);
  is([await lastRow(tab), await tab.page.locator('.live-clock').innerText()], before, 'Space stops the picture, while the recording goes on');
  await tab.page.keyboard.press('Space');
  await until(tab, '● Following');
  ok((await lastRow(tab)) !== before[0], 'and brings it back to now');
}

/** A click on the bar of a second of the first graph. */
async function clickBar(tab, second) {
  const box = await tab.page.locator('.graph canvas').first().boundingBox();
  const state = await tab.served.state();
  const newest = Math.floor((state.now - state.first) / SECOND);
  const x = LEFT + (second - (newest - WINDOW + 1) + 0.5) * ((box.width - LEFT - RIGHT) / WINDOW);
  await tab.page.mouse.click(box.x + x, box.y + box.height - 26);
}

async function selects(tab, served) {
  const endedIn = ({ rows, first }, second) => rows.filter(([, start, duration, , category]) => category === INFERENCE && Math.floor((start + duration - first) / SECOND) === second);
  const before = await served.state();
  const newest = Math.floor((before.now - before.first) / SECOND);
  let second = 0; // the one with most inferences, of those that are surely over
  for (let s = 1; s < newest - 2; s++) if (endedIn(before, s).length > endedIn(before, second).length) second = s;
  const named = `second 0:${String(second).padStart(2, '0')}`;
  for (let round = 0; ; round++) {
    await clickBar(tab, second);
    const words = await tab.page.locator('.activity-head .faint').innerText();
    if (words.includes(named) || round > 8) break; // a second may begin between the question and the click
  }
  const state = await served.state();
  const { first } = state;
  const ended = endedIn(state, second);
  is(await tab.page.locator('.activity-head .faint').innerText(), `${ended.length} rows selected, ${named}`, 'a bar selects the rows of its second');
  await tab.page.waitForSelector('.activity-row.sel');
  const starts = await tab.page.$$eval('.activity-row.sel > span:first-child', (cells) => cells.map((cell) => cell.textContent));
  const clock = (ns) => {
    const ms = Math.floor(ns / 1e6);
    return `00:${String(Math.floor(ms / 60000)).padStart(2, '0')}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}.${String(ms % 1000).padStart(3, '0')}`;
  };
  ok(starts.every((start) => ended.some((row) => clock(row[1] - first) === start)), 'they are the right ones', `${starts} of ${ended.map((row) => clock(row[1] - first))}`);
  await tab.page.waitForSelector('.live-now');
  ok(true, 'a second in the past stops the graphs, and Now appears');

  await tab.page.locator('.activity-row.sel').nth(1).click();
  await tab.page.waitForFunction(() => document.querySelector('.activity-head .faint').textContent === '1 row selected');
  const soft = await tab.css('--accent-soft');
  const lit = await tab.page.evaluate((wanted) => {
    const canvas = document.querySelector('.graph canvas');
    const data = canvas.getContext('2d').getImageData(0, 9, canvas.width, 1).data;
    const hex = (i) => '#' + [data[i], data[i + 1], data[i + 2]].map((v) => v.toString(16).padStart(2, '0')).join('');
    return Array.from({ length: canvas.width }, (_, x) => x).filter((x) => hex(x * 4) === wanted).length;
  }, soft);
  ok(lit >= 4 && lit < 16, 'a row lights one bar', `${lit} pixels`);
  await tab.page.keyboard.press('Escape');
  await tab.page.waitForFunction(() => !document.querySelector('.activity-row.sel'));
  await tab.page.keyboard.press('Space');
  await until(tab, '● Following');
}

async function hides(tab) {
  const streams = () => tab.requests.filter((url) => url.endsWith('/api/live/stream')).length;
  const hide = (hidden) =>
    tab.page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  is(streams(), 1, 'one stream');
  await hide(true);
  await tab.page.waitForTimeout(150);
  const before = await lastRow(tab);
  await tab.page.waitForTimeout(400);
  is(await lastRow(tab), before, 'nothing is read while nobody looks');
  await hide(false);
  await tab.page.waitForFunction((old) => [...document.querySelectorAll('.activity-rows .activity-row')].at(-1).innerText !== old, before);
  is(streams(), 2, 'then it goes on');
}

async function whole({ browser }) {
  const served = await begin();
  try {
    const tab = await Tab.open(browser, served, 'theme=light', { wait: '.activity-rows .activity-row' });
    await follows(tab, served);
    await pauses(tab, served);
    while ((await served.state()).now < 5 * SECOND) await tab.page.waitForTimeout(100);
    await selects(tab, served);
    await hides(tab);
    is(await tab.page.locator('.graph').count(), 3, 'three graphs');
    await tab.page.getByRole('button', { name: 'Setup hidden' }).click();
    is(await tab.page.locator('.graph').count(), 4, 'Setup is the fourth');
    await tab.page.getByRole('button', { name: /^Setup shown/ }).click();
    ok(await tab.page.locator('.tab:has-text("Summary")').isDisabled(), 'there is no summary before the end');
    await tab.shot('live');

    process.kill((await served.state()).info.pid, 'SIGTERM');
    await tab.page.waitForSelector('.live-banner');
    contains(await tab.page.locator('.live-banner').innerText(), 'The recording ended', 'the end is said');
    const { categories, totals } = await served.state();
    const medians = await tab.page.$$eval('.gauge-number', (all) => all.map((one) => one.textContent));
    const shown = (ns) => (ns < 999.5e3 ? ns / 1e3 : ns < 999.5e6 ? ns / 1e6 : ns / 1e9).toPrecision(3).replace(/\.$/, '');
    for (const [i, name] of ['inference', 'load', 'specialization'].entries()) contains(medians[i], shown(categories[name].median), `median of ${name}`);
    contains(await tab.page.locator('.graph-numbers').first().innerText(), categories.inference.count90.toLocaleString('en'), 'Count');
    ok(totals.events > 0, 'events were counted');
    await tab.page.getByRole('button', { name: 'Open the trace' }).click();
    await tab.page.waitForSelector('.summary');
    is(await tab.page.locator('.tab.on').innerText(), 'Summary', 'the trace opens with its summary');
    await tab.page.locator('.tab:has-text("Live")').click();
    await tab.page.waitForSelector('.activity-rows .activity-row');
    ok(true, 'what was live can still be looked at');
    await tab.page.locator('.tab:has-text("Summary")').click();
    await tab.settle();
    await tab.page.reload();
    await tab.page.waitForSelector('.summary');
    ok(true, 'a reload after the end stays on the page');
    await tab.close('live');
  } finally {
    await served.stop();
  }
}

async function gone({ browser }) {
  const served = await begin();
  const tab = await Tab.open(browser, served, 'theme=dark', { wait: '.activity-rows .activity-row', expectTrouble: true });
  const { pid } = (await served.state()).info;
  served.child.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');
  await tab.page.waitForSelector('.live-banner.warn');
  contains(await tab.page.locator('.live-banner').innerText(), 'does not answer', 'a server that is gone is said to be gone');
  ok((await tab.page.locator('.activity-rows .activity-row').count()) > 0, 'what was shown stays');
  const streams = () => tab.requests.filter((url) => url.endsWith('/api/live/stream')).length;
  const before = streams();
  await tab.page.waitForTimeout(2400);
  ok(streams() > before, 'it is tried again');
  await tab.close('gone');
}

export default { 'a program that runs': whole, 'a server that is gone': gone };
