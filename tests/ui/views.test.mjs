// SPDX-License-Identifier: Apache-2.0
// Between pages: the way back, links to how a page is set, from one trace to the next, numbers that can be taken along, two traces compared.
import { Tab, becomes, comesToContain, contains, is, ok } from './lib.mjs';

const idOf = async (many, name) => (await many.json('/api/traces')).traces.find((trace) => trace.name === name).id;

/** The browser's own way back leads through the pages, and shows them as they were. */
async function back({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=statistics&group=op&stats=instrumentation', { wait: '.vtable-row' });
  await tab.settle();
  await tab.page.locator('.tab:text-is("Flame")').click();
  await becomes(() => tab.part('page'), 'flame', 'another page');
  await tab.page.getByRole('radio', { name: 'By time' }).click();
  await becomes(() => tab.part('order'), 'time', 'how a page is set is in the address');
  await tab.page.locator('.tab:text-is("Models")').click();
  await becomes(() => tab.part('page'), 'models', 'and a third one');
  await tab.page.goBack();
  await tab.page.waitForSelector('main canvas');
  await becomes(() => tab.page.getByRole('radio', { name: 'By time' }).getAttribute('aria-checked'), 'true', 'back: the page before, as it was set');
  await tab.page.goBack();
  await tab.page.waitForSelector('.vtable-row');
  await becomes(() => tab.page.locator('.page-tool select').first().inputValue(), 'op', 'back again: the first one');
  await tab.page.goForward();
  await becomes(() => tab.part('page'), 'flame', 'and forward');
  await tab.close('back');
}

/** From the list to a trace, and back to the list. */
async function list({ browser, many }) {
  const tab = await Tab.open(browser, many, '', { wait: '.picker tbody tr' });
  await tab.page.locator('.picker a:has-text("ocr.ifg")').click();
  await tab.page.waitForSelector('.frame');
  await tab.page.locator('.bar a:has-text("traces")').click();
  await tab.page.waitForSelector('.picker tbody tr');
  ok(true, 'a trace leads back to the list');
  await tab.page.goBack();
  await tab.page.waitForSelector('.frame');
  ok(true, 'and the way back to the trace');
  await tab.close('list');
}

/** Numbers can be marked without opening the row, and a whole table copied. */
async function copied({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=statistics&group=category', { wait: '.vtable-row', permissions: ['clipboard-read', 'clipboard-write'] });
  await tab.settle();
  const box = await tab.box('.vtable-row [role=gridcell].num');
  await tab.page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
  await tab.page.mouse.down();
  await tab.page.mouse.move(box.x + 1, box.y + box.height / 2, { steps: 4 });
  await tab.page.mouse.up();
  await tab.settle();
  is(await tab.part('page'), 'statistics', 'marking a number does not open its row');
  await tab.page.getByRole('button', { name: 'Copy table' }).click();
  await tab.page.waitForSelector('.notice');
  const lines = (await tab.page.evaluate(() => navigator.clipboard.readText())).split('\n').map((line) => line.split('\t'));
  const { rows } = await one.json('stats?by=category');
  const total = lines[0].indexOf('Total (ns)');
  is(lines.slice(1).map((line) => Number(line[total])), rows.map((row) => row.total_ns), 'the copied table has every digit', lines[0].join());
  await tab.close('copied');
}

/** Switches as the command has them, in the address. */
async function compared({ browser, many }) {
  const [a, b] = [await idOf(many, 'silero.ifg'), await idOf(many, 'ocr.ifg')];
  const tab = await Tab.open(browser, many, `trace=${b}&page=compare&a=${a}&b=${b}`, { wait: '.compare-table' });
  const usual = await many.json(`/api/compare?a=${a}&b=${b}&threshold=5`);
  await becomes(() => tab.page.locator('.compare-card select').evaluateAll((all) => all.map((one) => Number(one.value))), [a, b], 'a link brings back which two');
  const shown = await tab.page.locator('.compare-most tbody tr').count();
  await tab.page.getByLabel('Every operator and zone', { exact: false }).check();
  await becomes(() => tab.page.locator('.compare-most tbody tr').count(), usual.rows.filter((row) => row.kind !== 'ml').length, `all locations instead of ${shown}`);
  await tab.page.getByRole('spinbutton').fill('30');
  await tab.page.keyboard.press('Enter');
  await comesToContain(() => tab.page.locator('.compare-foot').innerText(), '30', 'another threshold');
  await tab.page.getByRole('button', { name: 'Swap A and B' }).click();
  await becomes(async () => [await tab.part('a'), await tab.part('b'), await tab.part('threshold'), await tab.part('all')], [String(b), String(a), '30', '1'], 'swapped; and all of it is in the address');
  await tab.close('compared');
}

/** Keys of groups of which one is chosen. */
async function arrows({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=statistics', { wait: '.vtable-row' });
  await tab.page.getByRole('radio', { name: 'Instrumentation' }).focus();
  await tab.page.keyboard.press('ArrowRight');
  await becomes(() => tab.part('stats'), 'sampling', 'an arrow key chooses the next one');
  is(await tab.page.evaluate(() => document.activeElement.textContent), 'Sampling', 'and the focus goes along');
  await tab.close('arrows');
}

/** Nothing recorded: a way out that leads somewhere. */
async function wayOut({ browser, many }) {
  const tab = await Tab.open(browser, many, `trace=${await idOf(many, 'plain.ifg')}&page=statistics&find=nothing-has-this-name`, { wait: '.vtable-none' });
  await comesToContain(() => tab.page.locator('.vtable-none').innerText(), 'nothing-has-this-name', 'no row: what was looked for is named');
  await tab.page.getByRole('button', { name: 'Show everything' }).click();
  await tab.page.waitForSelector('.vtable-row');
  is(await tab.part('find'), null, 'and one click shows everything');
  contains(await tab.page.locator('.page-note').innerText(), 'Share of', 'what shares are of is said');
  await tab.close('way out');
}

export default { back, list, copied, compared, arrows, wayOut };
