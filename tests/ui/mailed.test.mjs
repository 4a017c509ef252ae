// SPDX-License-Identifier: Apache-2.0
// Reports that were mailed: opened from a file, with no network, by the same page. And two traces compared, served and mailed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHOTS, Served, TRACES, Tab, becomes, comesTrue, contains, eventually, is, ok } from './lib.mjs';

const TOOL = process.env.INFEROGRAM ?? 'inferogram';

/** A folder for pages, and what makes one; it is gone afterwards. */
async function withPages(body) {
  const folder = mkdtempSync(join(tmpdir(), 'ifg-pages-'));
  const make = (name, ...words) => {
    const path = join(folder, `${name}.html`);
    execFileSync(TOOL, [...words, '--html', path], { stdio: ['ignore', 'ignore', 'ignore'] });
    return path;
  };
  try {
    await body(make, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ran = (...words) => execFileSync(TOOL, words, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }).toString();

/** Opens a file with the network cut off. */
async function openFile(browser, path, options = {}) {
  const { fragment, ...context } = options;
  const tab = await Tab.blank(browser, { offline: true, ...context });
  tab.served = { origin: 'file://' };
  await tab.page.goto(`file://${path}${fragment ? `#${fragment}` : ''}`);
  await tab.page.waitForSelector('main');
  return tab;
}

/** How many colours a canvas has: one if nothing was drawn. */
const colours = (tab, selector) =>
  tab.page.evaluate((where) => {
    const canvas = document.querySelector(where);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }, selector);

/** The canvas of the tracks, made small. */
const coarse = (tab) =>
  tab.page.locator('canvas.tracks').evaluate((canvas) => {
    const small = new OffscreenCanvas(120, 60);
    const context = small.getContext('2d');
    context.drawImage(canvas, 0, 0, 120, 60);
    return [...context.getImageData(0, 0, 120, 60).data];
  });

const tabNames = (tab) => tab.page.locator('.tabs .tab').allInnerTexts();
const go = async (tab, name) => {
  await tab.page.locator(`.tabs .tab:has-text("${name}")`).click();
  await tab.page.waitForSelector(`.tabs .tab.on:has-text("${name}")`);
  await tab.settle();
};
const isDrawn = (tab, selector, least, name) => comesTrue(async () => (await colours(tab, selector)) > least, name);

async function reads({ browser, one }) {
  await withPages(async (make) => {
    const trace = join(TRACES, 'ocr.ifg');
    const path = make('ocr', 'report', trace);
    const report = JSON.parse(ran('report', trace, '--json'));
    const tab = await openFile(browser, path, { fragment: '' });
    await tab.page.waitForSelector('.report-findings');
    const text = (await tab.page.locator('.report-page').innerText()).replaceAll('\u202f', ' '); // between a number and its unit
    is((await tabNames(tab))[0], 'Report', 'the first page is the report');
    for (const finding of report.findings) contains(text.toLowerCase(), finding.title.toLowerCase(), `finding: ${finding.id}`);
    for (const finding of report.findings) contains(text.toLowerCase(), finding.evidence.text.toLowerCase(), `evidence: ${finding.id}`);
    is(await tab.page.locator('.report-findings .finding').count(), report.findings.length, 'as many findings as report --json has');
    for (const model of report.models) contains(text, model.name, `model: ${model.name}`);
    contains(text, 'What the numbers mean.', 'it ends with definitions');
    contains(text, 'zones are in this file', 'and with what was left out');
    await isDrawn(tab, '.report-page canvas', 5, 'the beginning is drawn');
    await tab.page.screenshot({ path: join(SHOTS, 'mailed-report.png'), fullPage: false });
    const served = await Tab.open(browser, one, 'page=summary', { wait: '.finding' });
    await served.settle();
    is(await tab.page.locator('.report-page h1').innerText(), await served.page.locator('.summary h1').innerText(), 'the same words as the summary');
    await served.close('summary beside it');
    await tab.close('mailed report');
  });
}

async function works({ browser, one }) {
  await withPages(async (make) => {
    const tab = await openFile(browser, make('ocr', 'report', join(TRACES, 'ocr.ifg')));
    const meta = await one.json('meta');
    await go(tab, 'Timeline');
    await tab.page.waitForSelector('.lane-label');
    await tab.settle();
    const here = await tab.tracks();
    const served = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
    await served.settle();
    is(here, await served.tracks(), 'the tracks are those of the server');
    await isDrawn(tab, 'canvas.tracks', 20, 'the timeline is drawn');
    const different = await eventually(async () => {
      const [mine, theirs] = await Promise.all([tab, served].map(coarse));
      return mine.length === theirs.length ? mine.filter((value, i) => Math.abs(value - theirs[i]) > 24).length / mine.length : 1;
    }, (part) => part < 0.03);
    ok(different < 0.03, 'and looks like the one of the server', `${(different * 100).toFixed(2)} % of the points differ`);
    // an inference: the same details as the server's, as far as the file has them
    const inference = (await one.slices('ml', 0, meta.length_ns, 16000)).find((slice) => meta.locations[slice.location].category === 'inference' && slice.merged === 1);
    const wanted = await one.json(`slice?id=${inference.id}`);
    await tab.page.evaluate((id) => (location.hash = `page=timeline&slice=${id}`), inference.id);
    await tab.page.waitForSelector('.details-facts');
    const said = async () => (await tab.page.locator('.details-facts').innerText()).split('\n').slice(0, 4);
    await served.page.evaluate((id) => (location.hash = `page=timeline&slice=${id}`), inference.id);
    await served.page.waitForSelector('.details-facts');
    await served.settle();
    const facts = await served.page.locator('.details-facts').innerText();
    await becomes(said, facts.split('\n').slice(0, 4), 'details of an inference are those of the server');
    ok(wanted.duration > 0, 'which knows it');
    await served.close('timeline beside it');
    await tab.page.keyboard.press('/');
    await tab.page.keyboard.type('Conv');
    await tab.page.waitForSelector('.found button');
    ok((await tab.page.locator('.found button').count()) > 0, 'search finds names');
    await tab.page.keyboard.press('Escape');
    for (const name of (await tabNames(tab)).filter((one) => !['Report', 'Timeline'].includes(one))) {
      await go(tab, name);
      await comesTrue(async () => (await tab.page.locator('main').innerText()).length > 40, `${name} has something to say`);
      ok(!/undefined|NaN|\[object/.test(await tab.page.locator('main').innerText()), `${name}: only numbers and words`);
    }
    await tab.close('mailed pages');
  });
}

async function prints({ browser }) {
  await withPages(async (make) => {
    const tab = await openFile(browser, make('ocr', 'report', join(TRACES, 'ocr.ifg')), { fragment: 'theme=dark', colorScheme: 'dark' });
    await tab.page.waitForSelector('.report-findings');
    await tab.settle();
    await tab.page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await tab.page.emulateMedia({ media: 'print' });
    await tab.settle();
    await becomes(() => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)', 'on paper it is light');
    is(await tab.page.locator('.bar').isVisible(), false, 'and has no bar');
    ok(await tab.page.evaluate(() => document.documentElement.scrollHeight > 1000 && getComputedStyle(document.querySelector('main')).overflow === 'visible'), 'all of it is printed, not what fits on the screen');
    await tab.page.pdf({ path: join(SHOTS, 'mailed-report.pdf'), preferCSSPageSize: true, printBackground: true });
    await tab.page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    await becomes(() => tab.page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'and dark again afterwards');
    await tab.close('mailed on paper');
    const small = await openFile(browser, make('small', 'report', join(TRACES, 'ocr.ifg')), { viewport: { width: 800, height: 450 } });
    await small.page.waitForSelector('.report-findings');
    await comesTrue(() => small.page.evaluate(() => document.querySelector('main').scrollWidth <= innerWidth), 'at 200 % nothing scrolls sideways');
    await small.close('mailed at 200 %');
  });
}

async function markup({ browser }) {
  await withPages(async (make, folder) => {
    const trace = join(folder, 'markup.ifg');
    execFileSync(process.env.REPORT_TRACES, ['markup', trace]);
    const tab = await openFile(browser, make('markup', 'report', trace));
    await tab.page.waitForSelector('.report-findings');
    for (const name of await tabNames(tab)) {
      await go(tab, name);
      is(await tab.page.evaluate(() => [window.broken ?? null, document.querySelectorAll('img').length, document.querySelectorAll('script').length]), [null, 0, 1], `${name}: texts that look like code are texts`);
    }
    await tab.close('hostile names');
    // the policy holds even if something got in
    const other = await openFile(browser, make('markup2', 'report', trace));
    const refused = await other.page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'window.broken = 2';
      document.body.append(script);
      const asked = await fetch('data:text/plain,x').then(() => 'answered', () => 'refused');
      return [window.broken ?? null, asked];
    });
    is(refused, [null, 'refused'], 'the policy of the page refuses scripts and requests');
    await other.context.close();
  });
}

async function capped({ browser, one }) {
  await withPages(async (make) => {
    const trace = join(TRACES, 'ocr.ifg');
    const tab = await openFile(browser, make('small', 'report', trace, '--max-size', '450k'));
    await tab.page.waitForSelector('.report-end code');
    const end = await tab.page.locator('.report-end').innerText();
    const meta = await one.json('meta');
    contains(end, `of ${meta.zones.toLocaleString('en-US')} zones are in this file one by one`, 'a capped report says what was left out');
    contains(end, 'slowest inferences', 'and what is whole');
    await go(tab, 'Timeline');
    await tab.page.waitForSelector('.lane-label');
    await isDrawn(tab, 'canvas.tracks', 15, 'its timeline is drawn');
    await go(tab, 'Statistics');
    await comesTrue(async () => (await tab.page.locator('.vtable-row').count()) > 5, 'its statistics are those of all');
    await tab.close('capped report');
  });
}

async function compares({ browser }) {
  await withPages(async (make, folder) => {
    const [a, b] = [join(folder, 'before.ifg'), join(folder, 'after.ifg')];
    copyFileSync(join(TRACES, 'ocr.ifg'), a);
    copyFileSync(join(TRACES, 'silero.ifg'), b);
    const served = await Served.start(a, b);
    try {
      const wanted = await served.json('/api/compare?a=0&b=1');
      const tab = await Tab.open(browser, served, 'trace=1&page=compare', { wait: '.compare-table tbody tr' });
      const rows = wanted.rows.filter((row) => row.kind === 'ml');
      await becomes(() => tab.page.locator('.compare-table tbody tr').count(), rows.length, 'a row for each model and category');
      const verdicts = await tab.page.locator('.compare-table tbody .chip').allInnerTexts();
      is(verdicts.map((text) => text.split(/\s+/).pop()).sort(), rows.map((row) => row.verdict).sort(), 'with the verdicts of diff --json');
      is(await tab.page.locator('select[aria-label="Trace A"]').inputValue(), '0', 'A is the first');
      await tab.shot('compare');
      // the same trace twice: everything is the same, and says so
      await tab.page.selectOption('select[aria-label="Trace B"]', '0');
      await tab.page.waitForFunction(() => document.querySelector('h1').innerText.includes('Choose two'));
      await tab.page.selectOption('select[aria-label="Trace A"]', '1');
      await tab.page.waitForSelector('.compare-table tbody tr');
      const turned = await served.json('/api/compare?a=1&b=0');
      await becomes(() => tab.page.locator('.compare-chips .chip').count(), Object.values(turned.counts).filter((n) => n > 0).length, 'the other way round');
      await tab.close('compare');
    } finally {
      await served.stop();
    }
    let path = '';
    try {
      path = make('diff', 'diff', a, b);
    } catch {
      path = join(folder, 'diff.html'); // unsure has an exit status of its own
    }
    const page = await openFile(browser, path);
    await page.page.waitForSelector('.compare-table tbody tr');
    contains(await page.page.locator('.compare-top').innerText(), 'before.ifg', 'a mailed comparison names both');
    await page.close('mailed comparison');
  });
}

async function benchmark({ browser }) {
  await withPages(async (make) => {
    let path = '';
    try {
      path = make('bench', 'bench', process.env.UI_BENCH_MODEL ?? '', '-n', '20', '-w', '2', '--processes', '1', '--threads', '1', '-q', '--shape', '1x3x64x64');
    } catch (trouble) {
      ok(false, 'bench --html writes a page', trouble.message);
      return;
    }
    const tab = await openFile(browser, path);
    await tab.page.waitForSelector('.report-page');
    await tab.settle();
    const text = await tab.page.locator('.report-page').innerText();
    contains(text, 'at the median', 'a benchmark says how long it takes');
    const headline = (await tab.page.locator('.report-page h1').innerText()).split(' at the median')[0];
    is(await tab.page.locator('.report-page tr', { hasText: 'Median' }).first().locator('td').nth(1).innerText(), headline, 'and its table has the same median, however few samples there are');
    contains(text, 'Was the machine quiet?', 'and whether to believe it');
    await isDrawn(tab, '.report-page canvas', 3, 'its samples are drawn');
    is(await tab.page.locator('.report-page canvas').count(), 3, 'samples, how often, share');
    ok(!/undefined|NaN|\[object/.test(text), 'only numbers and words');
    await tab.page.screenshot({ path: join(SHOTS, 'mailed-bench.png') });
    await tab.close('mailed benchmark');
  });
}

export default { reads, works, prints, markup, capped, compares, benchmark };
