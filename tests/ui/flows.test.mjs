// SPDX-License-Identifier: Apache-2.0
// The timeline: arrows between slices, ways from slice to slice by keys, ranges under a filter, and that what is selected can be seen.
import { Served, Tab, apart, contains, is, near, ok } from './lib.mjs';

const MS = 1e6;

async function arrows({ browser }) {
  const served = await Served.start(process.env.UI_FLOWS);
  try {
    const meta = await served.json('meta');
    ok(meta.has.flows, 'the trace has flows');
    const inference = (await served.slices('t2', 0, meta.length_ns, 16000)).sort((a, b) => a.start - b.start)[20];
    const { arrows: known } = await served.json(`flows?slice=${inference.id}`);
    const before = known.find((arrow) => arrow.to.slice === inference.id);
    const after = known.find((arrow) => arrow.from.slice === inference.id);
    const view = { from: inference.start - 0.6 * MS, to: inference.start + 0.8 * MS };
    const tab = await Tab.open(browser, served, `page=timeline&t0=${view.from}&t1=${view.to}&slice=${inference.id}`, { wait: '.flow-list' });
    await tab.settle();
    const words = await tab.page.locator('.flow-list li').allInnerTexts();
    is(words.length, 2, 'the details tell where it comes from and where it leads');
    contains(words[0], 'from request (decode)', 'from');
    contains(words[1], 'to request (writer)', 'to');

    // the dot at which the arrow begins, and the curve in the middle of its way
    const lane = await tab.lane('t2');
    const flow = await tab.css('--flow');
    const x = ((after.from.ns - view.from) / (view.to - view.from)) * lane.width;
    const y = lane.top + 4 + 8;
    const seen = await tab.colours([[x, y], [x + 1, y]]);
    ok(seen.some((colour) => apart(colour, flow) < 24), 'an arrow begins in the slice', `${seen} flow ${flow}`);
    await tab.shot('timeline-flow');

    await tab.page.keyboard.press('>');
    is(Number(await tab.part('slice')), after.to.slice, '> goes on along the flow');
    await tab.page.keyboard.press('>');
    is(Number(await tab.part('slice')), after.to.slice, 'at its end it stays');
    await tab.page.keyboard.press('<');
    is(Number(await tab.part('slice')), inference.id, '< goes back');
    await tab.page.waitForFunction(() => document.querySelectorAll('.flow-list li').length === 2);
    await tab.page.locator('.flow-list .link').first().click();
    is(Number(await tab.part('slice')), before.from.slice, 'a link goes there, too');

    ok(!tab.requests.some((url) => /flows\?t0/.test(url)), 'others are not asked for');
    await tab.page.keyboard.press('Escape');
    await tab.page.locator('.toolbar button:has-text("Flows")').click();
    is(await tab.part('flows'), '1', 'Flows shows all in sight, and a link has it');
    is(await tab.page.locator('.toolbar button:has-text("Flows")').getAttribute('aria-pressed'), 'true', 'which is told to screen readers');
    ok(tab.requests.some((url) => /flows\?t0/.test(url)), 'they are asked for');
    await tab.page.keyboard.press('r');
    is(await tab.part('flows'), null, 'R does the same');
    await tab.close('flows');
  } finally {
    await served.stop();
  }
}

async function fromSliceToSlice({ browser }) {
  const served = await Served.start(process.env.UI_FLOWS);
  try {
    const slices = (await served.slices('t1', 0, 70 * MS, 16000)).sort((a, b) => a.start - b.start || a.row - b.row);
    const [first, resize, crop, second] = slices;
    const tab = await Tab.open(browser, served, `page=timeline&t0=0&t1=${4 * MS}`, { wait: '.lane-label' });
    await tab.settle();
    await tab.page.locator('[data-track="t0"]').focus();
    await tab.page.keyboard.press('ArrowDown');
    is(await tab.page.evaluate(() => document.activeElement.dataset.track), 't1', 'down arrow: the next track');
    is(await tab.page.locator('.lane-label[tabindex="0"]').count(), 1, 'Tab stops at one label');
    const go = async (key, wanted, name) => {
      await tab.page.keyboard.press(key);
      is(Number(await tab.part('slice')), wanted, name);
    };
    await go('Enter', first.id, 'Enter selects the first event of a track');
    await go('Alt+ArrowDown', resize.id, 'Alt + down: the first inside it');
    await go('e', crop.id, 'E: the one after it');
    await go('q', resize.id, 'Q: the one before it');
    await go('Alt+ArrowUp', first.id, 'Alt + up: back');
    await go('e', second.id, 'E on the row above');
    await tab.close('from slice to slice');

    // in a window as small as at 200 %: rows are where their labels are, and what is selected is in sight
    const last = (await served.json('flows')).arrows.filter((arrow) => arrow.kind === 'flow').at(-1).to;
    const small = await Tab.open(browser, served, `page=timeline&t0=0&t1=${4 * MS}&slice=${last.slice}`, { wait: '.details', viewport: { width: 800, height: 420 } });
    await small.settle();
    const scroll = () => small.page.evaluate(() => ({ top: document.querySelector('.lanes').scrollTop, lanes: document.querySelector('.lanes').getBoundingClientRect().top, canvas: document.querySelector('canvas.tracks').getBoundingClientRect().top, high: document.querySelector('.lanes').clientHeight }));
    const shown = await scroll();
    const lane = await small.lane(last.thread);
    ok(lane.top + 20 > 0 && lane.top + 20 <= shown.high, 'the track of what is selected is in sight', JSON.stringify({ lane, shown }));
    await small.page.evaluate(() => (document.querySelector('.lanes').scrollTop = 1e6));
    await small.settle();
    const bottom = await scroll();
    near(bottom.canvas, bottom.lanes, 0.6, 'scrolled to the end, the picture is where its labels are');
    await small.shot('timeline-small');
    await small.close('a small window');
  } finally {
    await served.stop();
  }
}

async function filteredRange({ browser, one }) {
  const meta = await one.json('meta');
  const [from, to] = [Math.round(meta.length_ns * 0.2), Math.round(meta.length_ns * 0.9)];
  const tab = await Tab.open(browser, one, `page=timeline&range=${from}-${to}`, { wait: '.range-words' });
  const words = async (part) => {
    await tab.page.waitForFunction((text) => document.querySelector('.range-words')?.innerText.includes(text), part);
    await tab.settle();
    return (await tab.page.locator('.range-words').innerText()).replace(/\s+/g, ' ');
  };
  const number = (text, name) => Number(text.match(new RegExp(`${name} ([\\d,]+)`))?.[1].replaceAll(',', ''));
  const all = await one.json(`range?t0=${from}&t1=${to}`);
  is(number(await words('cores'), 'inferences'), all.inferences.n, 'all models: as the API says');
  for (const model of meta.models.slice(0, 2)) {
    await tab.page.keyboard.press('t');
    const part = await one.json(`range?t0=${from}&t1=${to}&model=${model.id}`);
    const text = await words(model.name);
    contains(text, `only ${model.name}`, `${model.name}: the title says so`);
    ok(part.inferences.n < all.inferences.n, `${model.name}: not all`);
    is(number(text, 'inferences'), part.inferences.n, `${model.name}: as the API says`);
    contains(text, 'CPU in all', 'the CPU is not of the model alone');
  }
  const both = await Promise.all(meta.models.map((model) => one.json(`range?t0=${from}&t1=${to}&model=${model.id}`)));
  is(both.reduce((sum, part) => sum + part.inferences.n, 0), all.inferences.n, 'the models add up to all');
  while ((await tab.part('model')) !== null) await tab.page.keyboard.press('t');
  await tab.page.locator('.search input').fill('conv');
  const conv = await one.json(`range?t0=${from}&t1=${to}&q=conv`);
  const text = await words('names with');
  contains(text, 'only names with “conv”', 'a text in the name: the title says so');
  is(number(text, 'events'), conv.events.n, 'events as the API says');
  await tab.shot('timeline-range-filter');
  await tab.close('ranges under a filter');
}

export default { arrows, fromSliceToSlice, filteredRange };
