// SPDX-License-Identifier: Apache-2.0
// A number that is printed in two places is the same number: the report's text, its JSON and the page, of one trace.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Served, TRACES, Tab, comesToContain, comesTrue, contains, eventually, is, ok } from './lib.mjs';

const TOOL = process.env.INFEROGRAM ?? 'inferogram';
const ran = (...words) => execFileSync(TOOL, words, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
const UNITS = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, min: 6e4, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, '%': 0.01, '': 1 };

/** "1 406", "1,406", "7.54 ms", "84.0\u2009MB": digits and unit without what is between thousands; "–" and "n/a" are nothing. */
const plain = (text) => text.trim().replace(/[µμ]/, 'u').replace(/^[~]/, '').replace(/[\s\u2009\u202f\u00a0,]+(?=\d)/g, '').replace(/[\s\u2009\u202f\u00a0]+/g, '');
/** In ms, bytes, or alone. */
function value(text) {
  const found = plain(text).match(/^(-?[\d.]+)(ns|us|ms|s|min|B|kB|MB|GB|%)?$/);
  return found ? Number(found[1]) * UNITS[found[2] ?? ''] : null;
}
/** Three digits are shown. */
const agrees = (shown, exact) => (shown === null || exact === null ? shown === exact : Math.abs(shown - exact) <= Math.abs(exact) * 0.0051 + 1e-9);
/** Nothing is a dash, or n/a and why. */
const same = (a, b) => plain(a) === plain(b) || (value(a) === null && value(b) === null);

const CATEGORIES = { 'prepare-ep': 'Prepare', specialization: 'Specialization', load: 'Load', setup: 'Setup', inference: 'Inference' };
const COLUMNS = ['first', 'median', 'p90', 'p99', 'max', 'total'];

/** The rows of the report's tables: [category, count, first, ..., share]. */
const rowsOfText = (text) =>
  text.split('\n').flatMap((line) => {
    const found = line.match(/^ {4}(prepare-ep|specialization|load|setup|inference) +(\d[\d ]*?) {2,}(.*)$/);
    return found ? [[found[1], found[2], ...found[3].trim().split(/ {2,}/)]] : [];
  });

async function models(tab, text, report, name) {
  const wanted = report.models.flatMap((model) => model.functions.flatMap((one) => Object.keys(CATEGORIES).filter((category) => one.events[category].count).map((category) => [category, one.events[category]])));
  const told = rowsOfText(text);
  is(told.map((row) => row[0]), wanted.map(([category]) => category), `${name}: text and JSON have the same rows`);
  await tab.page.waitForSelector('.models-table');
  await tab.settle();
  const shown = (await tab.page.locator('.models-table tbody tr:not(.model-head)').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText)))).filter((cells) => value(cells[2]) !== 0);
  is(shown.length, wanted.length, `${name}: and so has the page`);
  const wrong = [];
  wanted.forEach(([category, events], i) => {
    const [, count, ...times] = told[i];
    const cells = shown[i];
    if (value(count) !== events.count || value(cells[2]) !== events.count) wrong.push(`${category} count: text ${count}, JSON ${events.count}, page ${cells[2]}`);
    COLUMNS.forEach((column, k) => {
      const exact = events[`${column}_ms`];
      if (!agrees(value(times[k]), exact) || !same(times[k], cells[3 + k])) wrong.push(`${category} ${column}: text ${times[k]}, JSON ${exact}, page ${cells[3 + k]}`);
    });
    const share = times[COLUMNS.length];
    if (Math.abs(value(share) - events.share) > 0.00051) wrong.push(`${category} share: text ${share}, JSON ${events.share}`);
  });
  is(wrong, [], `${name}: counts, medians, percentiles and totals are equal in text, JSON and page`);
  const headline = await tab.page.locator('h1').innerText();
  const medians = wanted.filter(([category]) => category === 'inference').map(([, events]) => events.median_ms);
  const first = headline.match(/(?:at|Median|takes) ([\d.]+)\s?(ns|[uµμ]s|ms|s)\b/);
  ok(!first || medians.some((exact) => agrees(value(first[1] + first[2]), exact)), `${name}: the headline has the median of the table`, headline);
  ok((headline.match(/steady/gi) ?? []).length <= 1, `${name}: and one value for steady`, headline);
}

async function memory(tab, served, text, trace, name) {
  const { rows } = JSON.parse(ran('stats', trace, '--by', 'memory', '--json'));
  const peak = Math.max(...rows.filter((row) => row.process).map((row) => row.peak_bytes));
  is(rows.filter((row) => row.growth_bytes > peak || row.delta_bytes > peak), [], `${name}: nothing grows by more than there ever was`);
  is(rows.filter((row) => ['delta', 'growth'].some((key) => (row[`${key}_bytes`] === null) !== (typeof row[`${key}_unknown`] === 'string'))), [], `${name}: what is not known has a reason`);
  const told = ran('stats', trace, '--by', 'memory', '--limit', '0').split('\n').slice(1, 1 + rows.length).map((line) => line.trim().split(/ {2,}/));
  await tab.page.evaluate(() => (location.hash = 'page=memory'));
  await tab.page.waitForSelector('.memory-page table.tight');
  await tab.settle();
  const shown = await tab.page.locator('.memory-page table.tight').first().locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.innerText)));
  is([told.length, shown.length], [rows.length, rows.length], `${name}: text and page have the rows of JSON`);
  const wrong = [];
  for (const row of rows) {
    const line = told.find((cells) => cells[0] === row.name);
    const cells = shown.find((one) => one[0].replace(/~ coarse/, '').trim() === row.name);
    if (!line || !cells) {
      wrong.push(`${row.name} is missing: text ${line}, page ${cells}`);
      continue;
    }
    const pairs = [['count', row.count, line[1], cells[1]], ['before', row.before_bytes, line[2], cells[2]], ['peak', row.peak_bytes, line[3], cells[3]], ['after', row.after_bytes, line[4], cells[4]], ['delta', row.delta_bytes, line[5], cells[5]], ['growth', row.growth_bytes, line[6], cells[7]]];
    for (const [what, exact, a, b] of pairs) if (!agrees(value(a), exact) || !same(a, b)) wrong.push(`${row.name} ${what}: text ${a}, JSON ${exact}, page ${b}`);
  }
  is(wrong, [], `${name}: memory is equal in text, JSON and page`);
  const process = rows.find((row) => row.process);
  const line = text.replace(/\s+/g, ' ').match(/Memory before ([\d.]+ \w+).*? peak ([\d.]+ \w+).*? delta ([\d.]+ \w+).*? after ([\d.]+ \w+) \(polled/) ?? [];
  ok(['before', 'peak', 'delta', 'after'].every((key, i) => agrees(value(line[i + 1] ?? ''), process[`${key}_bytes`])), `${name}: the report's line of memory has the same`, `${line[0]}`);
}

/** The server opens no files that a trace names, and so knows no costs of operators. */
function withoutRooflines(report) {
  for (const model of report.models) for (const part of [model, ...model.operators]) delete part.roofline;
  return report;
}

async function one({ browser }, trace, name) {
  const served = await Served.start(trace);
  try {
    const text = ran('report', trace);
    const report = JSON.parse(ran('report', trace, '--json'));
    is(await served.json('report'), withoutRooflines(report), `${name}: the server tells what report --json does`);
    const tab = await Tab.open(browser, served, 'page=summary');
    await models(tab, text, report, name);
    await tab.shot(`numbers-${name}`);
    await memory(tab, served, text, trace, name);
    await tab.shot(`numbers-${name}-memory`);
    const info = JSON.parse(ran('info', trace, '--json'));
    const words = ran('info', trace).match(/^Events +(.*)$/m)[1].split(' · ').map((part) => part.match(/^(\d[\d ]*?) (\D+)$/));
    for (const [key, noun] of [['ml', /ML events?/], ['ops', /operators?/]]) is(value(words.find((part) => noun.test(part[2]))?.[1] ?? '0'), info.events[key], `${name}: info counts ${key} as its JSON`);
    const stats = JSON.parse(ran('stats', trace, '--by', 'category', '--json')).rows.find((row) => row.name === 'inference');
    const inferences = report.models.flatMap((model) => model.functions.map((fn) => fn.events.inference));
    is(stats.count, inferences.reduce((n, events) => n + events.count + (events.perturbed.included ? 0 : events.perturbed.count) + events.failed, 0), `${name}: stats has the report's inferences, and those with operators`);
    await tab.close(name);
    return report;
  } finally {
    await served.stop();
  }
}

async function silero(tools) {
  await one(tools, join(TRACES, 'silero.ifg'), 'silero');
}

/** Operators of a device are labelled wherever they stand. */
async function gpu({ browser }) {
  const trace = process.env.UI_GPU ?? '';
  const report = await one({ browser }, trace, 'gpu');
  is(report.models.map((model) => model.profiling.host_time), [true], 'gpu: its operators are host times');
  const served = await Served.start(trace);
  const tab = await Tab.open(browser, served, 'page=summary');
  for (const page of ['summary', 'operators', 'statistics']) {
    await tab.page.evaluate((name) => (location.hash = `page=${name}`), page);
    const words = await eventually(() => tab.page.locator('main').innerText(), (all) => all.includes('host time'));
    contains(words, 'host time; the device is not recorded', `gpu: ${page} says so`);
    await tab.settle();
    await tab.shot(`numbers-gpu-${page}`);
  }
  await comesTrue(async () => !(await served.json('stats?by=category')).rows.some((row) => row.host_time), 'gpu: inferences are not');
  await tab.close('gpu');
  await served.stop();
  const both = await Served.start(trace, process.env.UI_GPU_AGAIN ?? '');
  const compared = await Tab.open(browser, both, 'trace=1&page=compare', { wait: '.compare-most' });
  contains(await compared.page.locator('main').innerText(), 'host time; the device is not recorded', 'gpu: compare says so');
  await compared.close('gpu, compared');
  await both.stop();
}

/** Where work of the device was recorded, its times stand beside those of the host, and are those of the report. */
async function device({ browser }) {
  const trace = process.env.UI_DEVICE ?? '';
  const served = await Served.start(trace);
  const { text, idle_text, kernels } = JSON.parse(ran('report', trace, '--json')).models[0].device;
  const tab = await Tab.open(browser, served, 'page=models');
  const main = () => tab.page.locator('main').innerText();
  await comesToContain(main, text, 'device: a model has the words of the report');
  await comesToContain(main, idle_text, 'device: and what the host did while it was idle');
  await tab.shot('device-models');
  for (const [page, words] of [
    ['operators', ['Device', '107', '60.0']],
    ['statistics&group=kernel', ['gemm', '3.00', '32.9']],
    ['flame', ['10.2', 'width = device time']],
    ['timeline', []],
  ]) {
    await tab.page.evaluate((name) => (location.hash = `page=${name}`), page);
    for (const word of words) await comesToContain(main, word, `device: ${page} has ${word}`);
    ok(!(await main()).includes('the device is not recorded'), `device: ${page} has no mark`);
    await tab.settle();
    await tab.shot(`device-${page.split('&')[0]}`);
  }
  const gemm = kernels.rows.find((row) => row.name === 'gemm');
  await tab.page.evaluate((slice) => (location.hash = `page=timeline&t0=2145000&t1=2277000&slice=${slice}`), gemm.longest);
  const details = () => tab.page.locator('.details-facts').innerText();
  for (const word of ['cuLaunchKernel', 'Queue delay', 'fc', 'launch']) await comesToContain(details, word, `device: details of a kernel have ${word}`);
  await tab.settle();
  await tab.shot('device-kernel');
  await tab.close('device');
  await served.stop();
}

export default { silero, gpu, device };
