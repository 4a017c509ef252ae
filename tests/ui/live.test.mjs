// SPDX-License-Identifier: Apache-2.0
// The live page with a program that runs: the table follows or stays, bars and rows select each other, pause, the end, a server that goes away.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Served, Tab, becomes, comesToContain, comesTrue, eventually, is, ok } from './lib.mjs';

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
async function begin(command = ['node', PROGRAM, MODELS, '1000000']) {
  const child = spawn(TOOL, ['live', '--web', '-q', '--no-sample', '--', ...command], { stdio: ['ignore', 'ignore', 'pipe'] });
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

/** Until the program has done more. */
async function moreEvents(served, n) {
  const { totals } = await served.state();
  await eventually(async () => (await served.state()).totals.events, (events) => events >= totals.events + n);
}

/** Until it does not change any more. */
async function resting(tab, read) {
  for (let [before, same] = [await read(), 0]; ; ) {
    await tab.drawn(60);
    const now = await read();
    same = now === before ? same + 1 : 0;
    if (same === 4) return now;
    before = now;
  }
}

async function follows(tab, served) {
  await comesToContain(() => chip(tab), 'Following', 'it follows at first');
  const before = await lastRow(tab);
  await tab.page.waitForFunction((old) => [...document.querySelectorAll('.activity-rows .activity-row')].at(-1).innerText !== old, before);
  await comesTrue(() => isAtEnd(tab), 'the newest row is seen');

  await tab.page.waitForFunction(() => document.querySelector('.activity-body').scrollHeight > document.querySelector('.activity-body').clientHeight + 200);
  await tab.page.locator('.activity-body').hover();
  await tab.page.mouse.wheel(0, -150);
  await until(tab, 'Not following');
  const kept = await resting(tab, () => firstSeen(tab)); // it glides
  await moreEvents(served, 20);
  await tab.drawn(250);
  is(await firstSeen(tab), kept, 'scrolled up, what is read stays where it is');
  ok(!(await isAtEnd(tab)), 'and the table does not follow');
  await tab.page.getByRole('button', { name: /^Now/ }).click();
  await until(tab, '● Following');
  await comesTrue(() => isAtEnd(tab), 'Now follows again');
  ok((await lastRow(tab)) !== kept, 'with the newest row');
}

async function pauses(tab, served) {
  await tab.page.locator('h2:has-text("Activity")').click();
  await tab.page.keyboard.press('Space');
  await until(tab, 'Paused');
  await tab.drawn();
  const picture = async () => [await lastRow(tab), await tab.page.locator('.live-clock').innerText()];
  const before = await picture();
  await moreEvents(served, 10);
  await tab.drawn(150);
  is(await picture(), before, 'Space stops the picture, while the recording goes on');
  await tab.page.keyboard.press('Space');
  await until(tab, '● Following');
  await comesTrue(async () => (await lastRow(tab)) !== before[0], 'and brings it back to now');
}

const hint = (tab) => tab.page.locator('.activity-head .faint').innerText();
const secondOf = ({ first }, ns) => Math.floor((ns - first) / SECOND);
const endedIn = (state, second) => state.rows.filter(([, start, duration, , category]) => category === INFERENCE && secondOf(state, start + duration) === second);

/** The newest second that is over and has some inferences: a machine that is busy may take a while to have one. */
async function busySecond(served) {
  const found = await eventually(async () => {
    const state = await served.state();
    for (let second = secondOf(state, state.now) - 3; second > 0; second--) if (endedIn(state, second).length >= 2) return second;
    return -1;
  }, (second) => second >= 0);
  if (found < 0) throw new Error('no second has two inferences');
  return found;
}

/** Clicks the bar of a second of the first graph. The graphs move once a second, perhaps just before the click: then again. */
async function clickBar(tab, second, named) {
  for (let round = 0; round < 30; round++) {
    const box = await tab.page.locator('.graph canvas').first().boundingBox();
    const state = await tab.served.state();
    const x = LEFT + (second - (secondOf(state, state.now) - WINDOW + 1) + 0.5) * ((box.width - LEFT - RIGHT) / WINDOW);
    await tab.page.mouse.click(box.x + x, box.y + box.height - 26);
    await tab.drawn();
    if ((await hint(tab)).endsWith(named)) return;
    await tab.page.keyboard.press('Escape');
    if (await tab.page.locator('.live-now').count()) await tab.page.keyboard.press('Space');
    await until(tab, '● Following');
  }
}

async function selects(tab, served) {
  const second = await busySecond(served);
  const named = `, second ${Math.floor(second / 60)}:${String(second % 60).padStart(2, '0')}`;
  await clickBar(tab, second, named);
  // rows of a recorder that was held up may still come
  const [said, state] = await eventually(async () => {
    const now = await served.state();
    return [await hint(tab), now];
  }, ([words, now]) => words === `${endedIn(now, second).length} rows selected${named}`);
  const ended = endedIn(state, second);
  is(said, `${ended.length} rows selected${named}`, 'a bar selects the rows of its second');
  await tab.page.waitForSelector('.activity-row.sel');
  const clock = (ns) => {
    const ms = Math.floor(ns / 1e6);
    return `00:${String(Math.floor(ms / 60000)).padStart(2, '0')}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}.${String(ms % 1000).padStart(3, '0')}`;
  };
  const starts = await tab.page.$$eval('.activity-row.sel > span:first-child', (cells) => cells.map((cell) => cell.textContent));
  ok(starts.every((start) => ended.some((row) => clock(row[1] - state.first) === start)), 'they are the right ones', `${starts} of ${ended.map((row) => clock(row[1] - state.first))}`);
  await tab.page.waitForSelector('.live-now');
  ok(true, 'a second in the past stops the graphs, and Now appears');

  // not with the mouse: the rows move while the table follows, out of what is drawn in the end
  await tab.page.waitForFunction(() => {
    const row = [...document.querySelectorAll('.activity-row.sel')].at(-1);
    if (row) row.click();
    else document.querySelector('.activity-body').scrollTop -= 100;
    return row;
  });
  await tab.page.waitForFunction(() => document.querySelector('.activity-head .faint').textContent === '1 row selected');
  const soft = await tab.css('--accent-soft');
  const lit = () =>
    tab.page.evaluate((wanted) => {
      const canvas = document.querySelector('.graph canvas');
      const data = canvas.getContext('2d').getImageData(0, 9, canvas.width, 1).data;
      const hex = (i) => '#' + [data[i], data[i + 1], data[i + 2]].map((v) => v.toString(16).padStart(2, '0')).join('');
      return Array.from({ length: canvas.width }, (_, x) => x).filter((x) => hex(x * 4) === wanted).length;
    }, soft);
  const pixels = await eventually(lit, (n) => n >= 4 && n < 16);
  ok(pixels >= 4 && pixels < 16, 'a row lights one bar', `${pixels} pixels`);
  await tab.page.keyboard.press('Escape');
  await tab.page.waitForFunction(() => !document.querySelector('.activity-row.sel'));
  await tab.page.keyboard.press('Space');
  await until(tab, '● Following');
}

async function hides(tab, served) {
  const streams = () => tab.requests.filter((url) => url.endsWith('/api/live/stream')).length;
  const hide = (hidden) =>
    tab.page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  is(streams(), 1, 'one stream');
  await hide(true);
  await tab.drawn(150);
  const before = await lastRow(tab);
  await moreEvents(served, 5);
  await tab.drawn(150);
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
    await selects(tab, served);
    await hides(tab, served);
    is(await tab.page.locator('.graph').count(), 3, 'three graphs');
    await tab.page.getByRole('button', { name: 'Setup hidden' }).click();
    await becomes(() => tab.page.locator('.graph').count(), 4, 'Setup is the fourth');
    await tab.page.getByRole('button', { name: /^Setup shown/ }).click();
    ok(await tab.page.locator('.tab:has-text("Summary")').isDisabled(), 'there is no summary before the end');
    await tab.shot('live');

    process.kill((await served.state()).info.pid, 'SIGTERM');
    await tab.page.waitForSelector('.live-banner');
    await comesToContain(() => tab.page.locator('.live-banner').innerText(), 'The recording ended', 'the end is said');
    const { categories, totals } = await served.state();
    const medians = () => tab.page.$$eval('.gauge-number', (all) => all.map((one) => one.textContent));
    const shown = (ns) => (ns < 999.5e3 ? ns / 1e3 : ns < 999.5e6 ? ns / 1e6 : ns / 1e9).toPrecision(3).replace(/\.$/, '');
    for (const [i, name] of ['inference', 'load', 'specialization'].entries()) await comesToContain(async () => (await medians())[i], shown(categories[name].median), `median of ${name}`);
    await comesToContain(() => tab.page.locator('.graph-numbers').first().innerText(), categories.inference.count90.toLocaleString('en'), 'Count');
    ok(totals.events > 0, 'events were counted');
    await tab.page.getByRole('button', { name: 'Open the trace' }).click();
    await tab.page.waitForSelector('.summary');
    await becomes(() => tab.page.locator('.tab.on').innerText(), 'Summary', 'the trace opens with its summary');
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
  await comesToContain(() => tab.page.locator('.live-banner').innerText(), 'does not answer', 'a server that is gone is said to be gone');
  ok((await tab.page.locator('.activity-rows .activity-row').count()) > 0, 'what was shown stays');
  const streams = () => tab.requests.filter((url) => url.endsWith('/api/live/stream')).length;
  const before = streams();
  await comesTrue(() => streams() > before, 'it is tried again');
  await tab.close('gone');
}

/** Inferences that end on another thread, and one that does not end. */
async function asynchronous({ browser }) {
  const served = await begin([process.env.LIVE_EVENTS, '200', '0.5', 'async']);
  try {
    const tab = await Tab.open(browser, served, 'theme=light', { wait: '.live-open' });
    await comesToContain(() => tab.page.locator('.live-open').innerText(), 'known · Inference, open', 'what is open is shown');
    const before = await tab.page.locator('.live-open').innerText();
    await comesTrue(async () => (await tab.page.locator('.live-open').innerText()) !== before, 'and grows');
    await comesToContain(() => tab.page.locator('.graph-numbers').first().innerText(), '100', 'those that ended are counted');
    await comesToContain(() => lastRow(tab), 'Inference', 'and have rows');
    await tab.close('asynchronous');
  } finally {
    await served.stop();
  }
}

/** The first line that a program prints to stdout. */
const firstLine = (child) =>
  new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (status) => reject(new Error(`${child.spawnargs.join(' ')} ended with ${status}`)));
  });

/** A program that an agent records, which is killed. */
async function fromAfar({ browser }) {
  const program = spawn(process.env.LIVE_EVENTS, ['200', '600'], { stdio: 'ignore' });
  const agent = spawn(TOOL, ['agent', '-q'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await firstLine(agent);
  await eventually(() => isListed(address, program.pid), (listed) => listed);
  const child = spawn(TOOL, ['serve', '--live', '-q', '-a', address, '--pid', String(program.pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  const served = new Served(child, await firstLine(child));
  try {
    const tab = await Tab.open(browser, served, 'theme=light', { wait: '.activity-rows .activity-row' });
    await comesToContain(() => chip(tab), 'Following', 'it follows a process of an agent');
    await comesToContain(() => lastRow(tab), 'Inference', 'whose events have rows');
    agent.kill('SIGKILL');
    await tab.page.waitForSelector('.live-banner');
    await comesToContain(() => tab.page.locator('.live-banner').innerText(), 'The recording ended', 'the end is said');
    await tab.page.getByRole('button', { name: 'Open the trace' }).click();
    await tab.page.waitForSelector('.summary');
    ok(true, 'what came can be looked at');
    ok(program.exitCode === null && program.signalCode === null, 'the program goes on');
    await tab.close('from afar');
  } finally {
    program.kill('SIGKILL');
    agent.kill('SIGKILL');
    await served.stop();
  }
}

/** Whether an agent could record it now. */
async function isListed(address, pid) {
  const child = spawn(TOOL, ['ls', '--json', '-a', address.split(':')[0], '-p', address.split(':')[1]], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const part of child.stdout) text += part;
  return text.includes(`"pid":${pid},`);
}

export default { 'a program that runs': whole, 'asynchronous runs': asynchronous, 'a process of an agent': fromAfar, 'a server that is gone': gone };
