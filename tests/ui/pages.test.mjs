// SPDX-License-Identifier: Apache-2.0
// The pages besides the timeline: their figures are those of the API, and one click leads from each to the next.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PAGES } from './pages.mjs';
import { Served, Tab, becomes, comesToContain, comesTrue, contains, eventually, is, near, ok } from './lib.mjs';

const squeeze = (text) => text.replace(/\s+/g, ' ').trim();
const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9 };
/** "83.1 ms" in ns. */
const ns = (text) => {
  const found = squeeze(text).match(/(-?[\d.,]+) ?(ns|µs|ms|s|min)\b/);
  return found ? Number(found[1].replaceAll(',', '')) * UNITS[found[2]] : NaN;
};
const within = (got, wanted, name) => near(got, wanted, Math.abs(wanted) * 0.006, name);

/** Every page in both themes, for people to look at. */
async function pictures({ browser, one }) {
  for (const theme of ['light', 'dark']) {
    const tab = await Tab.open(browser, one, `page=summary&theme=${theme}`);
    for (const page of PAGES) {
      await tab.page.locator(`.tab:text-is("${page[0].toUpperCase()}${page.slice(1)}")`).click();
      await tab.page.waitForSelector('main');
      await tab.settle();
      is(await tab.part('page'), page, `${theme}: the tab opens ${page}`);
      await comesTrue(async () => (await tab.page.locator('main').innerText()).length > 40, `${theme}: ${page} shows something`);
      await tab.shot(`${page}-${theme}`);
    }
    await tab.close(`pages, ${theme}`);
  }
}

/** A trace of a program without models or samples: every page says what is missing. */
async function empty({ browser, many }) {
  const id = (await many.json('/api/traces')).traces.find((trace) => trace.name === 'plain.ifg').id;
  const tab = await Tab.open(browser, many, `trace=${id}`);
  for (const page of PAGES) {
    await tab.page.evaluate(([name, trace]) => (location.hash = `trace=${trace}&page=${name}`), [page, id]);
    await tab.settle();
    await comesTrue(async () => (await tab.page.locator('main').innerText()).trim().length > 20, `nothing recorded: ${page} says so`);
    await tab.shot(`empty-${page}`);
  }
  await tab.close('an empty trace');
}

async function summary({ browser, one }) {
  const report = await one.json('report');
  const tab = await Tab.open(browser, one, '');
  await tab.page.waitForSelector('.models-table');
  await tab.settle();
  const text = squeeze(await tab.page.locator('main').innerText());
  for (const model of report.models) {
    contains(text, model.name, `${model.name}: is named`);
    const rows = tab.page.locator('.models-table tbody tr');
    const from = (await rows.allInnerTexts()).findIndex((row) => row.includes(model.name));
    const inference = (await rows.allInnerTexts()).slice(from).find((row) => row.includes('Inference')) ?? '';
    const cells = inference.split('\t').map(squeeze);
    const events = model.functions[0].events.inference;
    ok(cells.includes(String(events.count)), `${model.name}: number of inferences`, cells.join(' | '));
    ok(cells.some((cell) => Math.abs(ns(cell) - events.median_ms * 1e6) <= events.median_ms * 1e6 * 0.006), `${model.name}: median`, `${cells.join(' | ')} wanted ${events.median_ms}`);
  }
  await becomes(() => tab.page.locator('.finding').count(), report.findings.length, 'all findings, worst first');
  const words = (await tab.page.locator('h1').innerText()).split(/\s+/).length;
  ok(words <= 34, 'one sentence says how it is', String(words));
  const lines = await tab.page.locator('.instruments li').allInnerTexts();
  ok(lines.length >= 5 && lines.every((line) => squeeze(line).length > 4), 'instruments, and why one is not on', lines.join(' | '));

  const shown = report.findings.findIndex((finding) => finding.evidence.events.length > 0);
  if (shown >= 0) {
    await tab.page.evaluate(() => (location.hash = 'page=summary&q=Conv'));
    await tab.page.waitForSelector('.finding');
    const event = await one.json(`slice?id=${report.findings[shown].evidence.events[0]}`);
    await tab.page.locator('.finding').nth(shown).getByRole('button', { name: 'Show' }).click();
    await tab.page.waitForSelector('.lane-label');
    is([await tab.part('page'), Number(await tab.part('slice'))], ['timeline', event.id], "a finding's Show goes to its evidence");
    const view = await tab.view();
    is(await tab.part('q'), null, 'and no older search hides it');
    ok(view.from <= event.start && view.to >= event.start + event.duration, 'which is in sight');
  } else {
    ok(true, 'no finding of this recording has an event of its own');
  }
  await tab.close('summary');
}

/** From the first screen in two clicks: which model, which phase, which operator, which function. */
async function twoClicks({ browser, one }) {
  const report = await one.json('report');
  const slowest = report.models.flatMap((model) => model.functions.flatMap((fn) => Object.entries(fn.events).map(([category, events]) => ({ model: model.name, category, total: events.total_ms })))).sort((a, b) => b.total - a.total)[0];
  const tab = await Tab.open(browser, one, '');
  await tab.page.waitForSelector('.models-table');
  const big = tab.page.locator('.models-table tr.big').first();
  contains((await big.innerText()).toLowerCase(), slowest.category, 'no click: the phase that took most is marked');
  await big.click();
  await tab.page.waitForSelector('.details-facts');
  is(await tab.part('page'), 'timeline', 'one click: it is on the timeline');
  await comesToContain(() => tab.page.locator('.details').innerText(), slowest.model, 'with its model');

  await tab.page.locator('.tab:text-is("Summary")').click();
  await tab.page.waitForSelector('.summary-middle');
  await tab.page.locator('.tab:text-is("Operators")').click();
  await tab.page.waitForSelector('.vtable-row');
  const ops = await one.json(`ops?model=${(await one.json('meta')).models.find((model) => model.name === report.models[0].name).id}`);
  await comesToContain(() => tab.page.locator('.vtable-row').first().innerText(), ops.types[0].type, 'one click: the operator that takes most');
  await tab.page.locator('.tab:text-is("Summary")').click();
  await tab.page.waitForSelector('.summary-middle');
  await tab.page.locator('.tab:text-is("Source")').click();
  await tab.page.waitForSelector('.code-line.on');
  await tab.settle();
  const code = await one.json(`annotate?function=${await tab.part('function')}`);
  const lines = code.files.flatMap((file) => file.lines).sort((a, b) => b.self - a.self);
  contains(code.name, 'prepare', "one click: the hottest of the program's own functions");
  const chosen = squeeze(await tab.page.locator('.code-line.on').first().innerText());
  ok(chosen.includes(squeeze(lines[0].text)) || lines.filter((line) => line.self === lines[0].self).some((line) => chosen.includes(squeeze(line.text))), 'and its hottest line', `${chosen} wanted ${lines[0].text}`);
  await tab.page.keyboard.press('h');
  await comesTrue(async () => squeeze(await tab.page.locator('.code-line.on').first().innerText()) !== chosen, 'H goes to the next hot line');
  await tab.close('two clicks');
}

async function models({ browser, one }) {
  const report = await one.json('report');
  const meta = await one.json('meta');
  const tab = await Tab.open(browser, one, 'page=models', { wait: '.model' });
  await becomes(() => tab.page.locator('.model h1').allInnerTexts(), report.models.map((model) => model.name), 'a part for each model');
  if (meta.has.states) {
    const rows = await one.json(`switches?model=${meta.models.find((model) => model.name === report.models[0].name).id}`);
    await tab.page.waitForSelector('.model-switches .vtable-row');
    const most = Math.max(...rows.map((row) => row.runnable_ns));
    within(ns((await tab.page.locator('.model-switches .vtable-row').first().locator('b').innerText())), most, 'the inference that waited longest is first');
    await tab.page.locator('.model-switches .vtable-row').first().click();
    await tab.page.waitForSelector('.lane-label');
    is(Number(await tab.part('slice')), rows.find((row) => row.runnable_ns === most).slice, 'and a click shows it');
  }
  await tab.page.evaluate(() => (location.hash = 'page=models'));
  await tab.page.waitForSelector('.model');
  await tab.page.getByRole('button', { name: 'Only this model' }).first().click();
  await becomes(() => tab.page.locator('.model').count(), 1, 'only this model');
  ok(await tab.part('model'), 'which the address knows');
  await tab.close('models');
}

async function operators({ browser, one }) {
  const meta = await one.json('meta');
  const tab = await Tab.open(browser, one, `page=operators&model=${meta.models[0].id}`, { wait: '.vtable-row' });
  const ops = await one.json(`ops?model=${meta.models[0].id}`);
  const top = squeeze(await tab.page.locator('.vtable-row').first().innerText());
  contains(top, ops.types[0].type, 'the type that takes most is first');
  within(ns(top), ops.types[0].per_run_ns, 'with its time in one run');
  const tables = await tab.page.locator('.vtable').count();
  ok(tables >= 1, 'types and nodes are tables');
  // sorting by another column, and back
  const head = tab.page.locator('.vtable').first().locator('.vtable-head button').first();
  await head.click();
  const names = () => tab.page.locator('.vtable').first().locator('.vtable-row > :first-child').allInnerTexts();
  const sorted = (list) => [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const shown = await eventually(names, (list) => sorted(list).slice(0, 5).join() === list.slice(0, 5).join());
  is(shown.slice(0, 5), sorted(shown).slice(0, 5), 'a click on a head sorts');
  await tab.close('operators');
}

async function statistics({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=statistics', { wait: '.vtable-row' });
  const stats = await one.json('stats?by=zone&mode=instrumentation');
  const top = [...stats.rows].sort((a, b) => b.total_ns - a.total_ns)[0];
  const cells = (await tab.page.locator('.vtable-row').first().locator('[role=gridcell]').allInnerTexts()).map(squeeze);
  ok(cells.includes(top.count.toLocaleString('en-US')), 'instrumentation: count', cells.join(' | '));
  ok(cells.some((cell) => Math.abs(ns(cell) - top.total_ns) <= top.total_ns * 0.006), 'total', cells.join(' | '));
  ok(cells.some((cell) => Math.abs(ns(cell) - top.p50_ns) <= top.p50_ns * 0.006), 'median');
  const events = await tab.page.locator('.vtable').getAttribute('aria-rowcount');
  is(Number(events), stats.rows.length + 1, 'as many rows as the API has');
  await tab.page.locator('.vtable-body').focus();
  await tab.page.keyboard.press('End');
  await tab.page.waitForFunction((last) => !!document.querySelector(`[aria-rowindex="${last}"]`), Number(events));
  ok(true, 'End goes to the last one');
  await tab.page.getByRole('radio', { name: 'Sampling' }).click();
  const sampled = await one.json('stats?by=function&mode=sampling');
  await tab.page.waitForSelector('.vtable-row .mono');
  await tab.settle();
  const first = tab.page.locator('.vtable-row').first();
  const hottest = [...sampled.rows].sort((a, b) => b.self - a.self)[0];
  await comesToContain(() => first.innerText(), `${((hottest.self / sampled.samples) * 100).toFixed(1)}`, 'sampling: share of the hottest function');
  await first.click();
  await tab.page.waitForSelector('.source-columns');
  is(await tab.part('page'), 'source', 'a row opens its source');
  ok(sampled.rows.filter((row) => row.self === hottest.self).some((row) => String(row.function) === new URL(tab.page.url()).hash.match(/\bfunction=(\d+)/)?.[1]), 'that of this function');
  await tab.close('statistics');
}

async function flame({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=flame', { wait: 'main canvas' });
  const all = await one.json('flame?mode=merged');
  await tab.settle();
  await comesToContain(async () => squeeze(await tab.page.locator('.page-tool').innerText()), `${all.samples.toLocaleString('en-US')} samples`, 'as many samples as the API has');
  const box = await tab.box('main canvas');
  // roots are at the top: click a little below until a function is chosen
  for (let row = 0; row < 12; row++) {
    await tab.page.mouse.click(box.x + 30, box.y + 10 + row * 20);
    await tab.drawn();
    if (await tab.page.locator('.page-tool button:has-text("Source of")').count()) break;
  }
  await tab.page.locator('.page-tool button:has-text("Source of")').click();
  await tab.page.waitForSelector('.source-columns');
  const functionId = Number(await tab.part('function'));
  const code = await one.json(`annotate?function=${functionId}`);
  await comesToContain(() => tab.page.locator('.source-foot').innerText(), String(code.total), 'flame, then its source: the same samples');
  await tab.page.locator('.functions tbody tr').first().locator('button').click();
  await tab.settle();
  await tab.page.waitForSelector('.code-line, .code-note, .nothing');
  const hot = Number(await tab.part('function'));
  const annotated = await one.json(`annotate?function=${hot}`);
  if (annotated.code.length) await comesTrue(async () => (await tab.page.locator('.code .part b, .code .part i').count()) > 0, 'the hottest function: shares beside its code');
  else ok(annotated.why_no_code, 'no code, and why', annotated.why_no_code);
  await tab.page.locator('.tab:text-is("Flame")').click();
  await tab.page.getByRole('radio', { name: 'By time' }).click();
  await tab.settle();
  await comesTrue(() => tab.requests.some((url) => url.includes('mode=time')), 'by time');
  const names = await tab.page.locator('.page-tool select').first().locator('option').allInnerTexts();
  ok(names.length >= 3, 'samples of one model can be chosen', names.join(', '));
  await tab.page.locator('.page-tool select').first().selectOption({ index: 1 });
  await tab.settle();
  const model = Number(await tab.part('model'));
  const part = await one.json(`flame?mode=time&model=${model}`);
  await comesToContain(async () => squeeze(await tab.page.locator('.page-tool').innerText()), `${part.samples.toLocaleString('en-US')} sample`, 'its samples only');
  await tab.close('flame');
}

async function memory({ browser, one }) {
  const { memory: report } = await one.json('memory');
  const tab = await Tab.open(browser, one, 'page=memory', { wait: '.memory-process' });
  await tab.settle();
  const text = squeeze(await tab.page.locator('main').innerText());
  const peak = report.processes[0].peak_bytes;
  const shown = text.match(/peak ([\d.]+) ?(kB|MB|GB)/);
  near(Number(shown?.[1]) * { kB: 1e3, MB: 1e6, GB: 1e9 }[shown?.[2]], peak, peak * 0.006, 'the peak is that of the API');
  await comesTrue(async () => (await tab.page.locator('main canvas').count()) >= 1, 'memory over time is drawn');
  await tab.close('memory');
}

/** Names that are code in a page, and a policy that would stop them. */
async function markup({ browser }) {
  const folder = mkdtempSync(join(tmpdir(), 'ifg-markup-'));
  const trace = join(folder, 'markup.ifg');
  execFileSync(process.env.REPORT_TRACES, ['markup', trace]);
  const served = await Served.start(trace);
  try {
    const tab = await Tab.open(browser, served, 'page=summary');
    let shown = false;
    for (const page of PAGES) {
      await tab.page.evaluate((name) => (location.hash = `page=${name}`), page);
      await tab.settle();
      shown ||= (await tab.page.content()).includes('onerror=');
      is(await tab.page.evaluate(() => [window.broken ?? null, document.querySelectorAll('img').length, document.querySelectorAll('script').length]), [null, 0, 1], `${page}: texts that look like code are texts`);
    }
    ok(shown, 'which are shown');
    await tab.close('hostile names');
  } finally {
    await served.stop();
    rmSync(folder, { recursive: true });
  }
}

export default { pictures, empty, markup, summary, twoClicks, models, operators, statistics, flame, memory };
