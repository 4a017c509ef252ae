// SPDX-License-Identifier: Apache-2.0
// The timeline: tracks and their colours, mouse, keys, search, filters, details.
import { readFile } from 'node:fs/promises';
import { Served, Tab, apart, becomes, comesToContain, comesTrue, contains, eventually, is, near, ok } from './lib.mjs';

const SLICE = 17; // height of a row, with its gap
const STATE = 4;
const FINE = 16000; // pixels: enough for each slice to stand alone

/** Time under a point of the canvas. */
const timeAt = (view, part) => view.from + part * (view.to - view.from);
const whole = (meta) => ({ from: 0, to: meta.length_ns });
const number = (text) => Number(String(text).replace(/[^\d.]/g, ''));
const squeeze = (text) => text.replace(/\s+/g, ' ').trim();

/** The middle of a wide slice of this category on a track, in pixels of the canvas. */
/** A slice with as much before and after it, as far as the trace goes: the page shows no more. */
const aroundOf = (slice, meta) => ({
  from: Math.max(0, Math.floor(slice.start - slice.duration)),
  to: Math.min(meta.length_ns, Math.ceil(slice.start + slice.duration * 2)),
});

async function pointOf(tab, served, meta, track, view, category) {
  const lane = await tab.lane(track);
  const slices = await served.slices(track, view.from, view.to, Math.round(lane.width));
  const scale = lane.width / (view.to - view.from);
  const isWanted = (slice) => (category ? meta.locations[slice.location].category === category : true);
  const found = slices.filter((slice) => isWanted(slice) && slice.merged === 1 && !(slice.flags & 6)).sort((a, b) => b.duration - a.duration)[0];
  if (!found) return null;
  const states = meta.tracks.find((one) => one.id === track).states;
  const x0 = (found.start - view.from) * scale;
  const x1 = x0 + found.duration * scale;
  const y = lane.top + (states ? STATE + 2 : 4) + found.row * SLICE;
  return { ...found, x0, x1, y, lane, middle: (Math.max(x0, 0) + Math.min(x1, lane.width)) / 2 };
}

async function tracks({ browser, one }) {
  const meta = await one.json('meta');
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  await tab.settle();
  const shown = await tab.tracks();
  const known = new Map(meta.tracks.map((track) => [track.id, track]));
  const group = (id) => (known.get(id)?.kind === 'counter' || !known.has(id) ? 0 : ['ml', 'model', 'function', 'lane', 'ops'].includes(known.get(id).kind) ? 1 : 2);
  const groups = shown.map(group);
  is(groups, [...groups].sort((a, b) => a - b), 'resources, models with their operators, threads: in this order');
  is(shown.filter((id) => known.get(id)?.kind === 'model'), meta.tracks.filter((track) => track.kind === 'model').map((track) => track.id), 'a track for each model of the API');
  ok(meta.models.filter((model) => model.name.includes('det') || model.name.includes('cls')).length === 2, 'both models of the program', JSON.stringify(meta.models));
  // nothing is lost: open everything that is closed
  for (let i = 0; i < 200; i++) {
    const closed = tab.page.locator('.lane-label[aria-expanded="false"] .fold').first();
    if (!(await closed.count())) break;
    await closed.click();
    await tab.drawn();
  }
  const all = new Set(await tab.tracks());
  const stacks = new Set();
  const missing = meta.tracks.filter((track) => {
    if (track.stack && stacks.has(track.stack)) return false;
    if (track.stack) stacks.add(track.stack);
    return !all.has(track.id);
  });
  is(missing.map((track) => track.id), [], 'every track of the API is there when all is open');
  contains(await tab.page.locator('.lane-label').first().innerText(), 'CPU', 'the CPU is first');
  ok(meta.has.samples && meta.has.ops, 'the recording has samples and operators');
  await tab.shot('timeline-open');
  await tab.close('tracks');
}

async function colours({ browser, one }) {
  const meta = await one.json('meta');
  const model = meta.tracks.find((track) => track.kind === 'model');
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  for (const theme of ['light', 'dark']) {
    if (theme === 'dark') await tab.page.keyboard.press('l');
    await becomes(() => tab.page.evaluate(() => document.documentElement.dataset.theme), theme, `${theme}: is on`);
    for (const category of ['load', 'specialization', 'inference']) {
      const all = await one.slices('ml', 0, meta.length_ns, FINE);
      const target = all.filter((slice) => meta.locations[slice.location].category === category).sort((a, b) => b.duration - a.duration)[0];
      if (!ok(target, `${theme}: there is ${category}`)) continue;
      const view = aroundOf(target, meta);
      const owner = meta.tracks.find((track) => track.kind === 'model' && track.model === meta.locations[target.location].model) ?? model;
      await tab.page.evaluate((hash) => (location.hash = hash), `page=timeline&t0=${view.from}&t1=${view.to}&theme=${theme}`);
      await tab.settle();
      const at = await pointOf(tab, one, meta, owner.id, view, category);
      if (!ok(at && at.x1 - at.x0 > 20, `${theme}: ${category} is on its model's track`)) continue;
      const fill = await tab.css(`--cat-${category}`);
      const edge = await tab.css(`--cat-${category}-edge`);
      const points = [];
      for (let x = Math.max(at.x0, 0) + 4; x < Math.min(at.x1, at.lane.width) - 4 && points.length < 24; x += 5) points.push([x, at.y + 2]);
      const isHatched = (seen) => seen.some((colour) => apart(colour, fill) < 24) && seen.some((colour) => apart(colour, fill) >= 8);
      const isFilled = (seen) => seen.filter((colour) => apart(colour, fill) < 4).length > seen.length / 2;
      const [isGood, how] = category === 'specialization' ? [isHatched, 'is hatched in its colours'] : [isFilled, 'has its colour'];
      const seen = await eventually(() => tab.colours(points), isGood);
      ok(isGood(seen), `${theme}: ${category} ${how}`, `${seen.join(' ')} fill ${fill} edge ${edge} ${JSON.stringify({ view, at })}`);
    }
  }
  const keys = await tab.page.locator('.toolbar .key').allInnerTexts();
  is(keys.slice(0, 4), ['Specialization', 'Load', 'Setup', 'Inference'], 'the legend names the four categories');
  await tab.close('colours');
}

async function wheelAndDrag({ browser, one }) {
  const meta = await one.json('meta');
  const start = { from: Math.round(meta.length_ns * 0.3), to: Math.round(meta.length_ns * 0.6) };
  const tab = await Tab.open(browser, one, `page=timeline&t0=${start.from}&t1=${start.to}`, { wait: '.lane-label' });
  await tab.settle();
  const box = await tab.box('canvas.tracks');
  for (const part of [0.25, 0.8]) {
    const before = await tab.view();
    await tab.page.mouse.move(box.x + box.width * part, box.y + 60);
    await tab.page.mouse.wheel(0, -200);
    const after = await tab.view();
    ok(after.to - after.from < (before.to - before.from) * 0.7, `wheel at ${part}: comes nearer`);
    near(timeAt(after, part), timeAt(before, part), (after.to - after.from) / box.width + 2, `wheel at ${part}: the time under the pointer stays`);
  }
  const near_ = await tab.view();
  await tab.page.mouse.wheel(0, 200);
  const far = await tab.view();
  ok(far.to - far.from > (near_.to - near_.from) * 1.3, 'wheel the other way: goes away');

  // resources and events are one picture: what both ask for is the same stretch of time
  const asked = tab.requests.slice(-60).map((url) => new URL(url)).filter((url) => /\/(lod|counter|states)$/.test(url.pathname));
  const windows = (what) => asked.filter((url) => url.pathname.endsWith(what)).map((url) => `${url.searchParams.get('t0')}-${url.searchParams.get('t1')}`);
  ok(windows('/lod').length > 0 && windows('/counter').length > 0, 'both were asked for');
  is(windows('/counter').at(-1), windows('/lod').at(-1), 'resources and events: the same time');
  const ids = await tab.tracks();
  const [counter, events] = [await tab.lane(ids[0]), await tab.lane(meta.tracks.find((track) => track.kind === 'ml').id)];
  const x = Math.round(box.width * 0.5);
  await tab.page.mouse.move(box.x + x, box.y + 4);
  const ink = await tab.css('--ink');
  const line = await eventually(() => tab.colours([[x, counter.top + 3], [x, events.top + events.height - 2]]), (seen) => seen.every((colour) => apart(colour, ink) < 6));
  ok(line.every((colour) => apart(colour, ink) < 6), 'the cursor is one line through resources and events', `${line} ink ${ink}`);

  const before = await tab.view();
  await tab.page.mouse.move(box.x + 900, box.y + 60);
  await tab.page.mouse.down();
  await tab.page.mouse.move(box.x + 700, box.y + 60, { steps: 4 });
  await tab.page.mouse.up();
  const after = await tab.view();
  near(after.from - before.from, (200 / box.width) * (before.to - before.from), 3 * ((before.to - before.from) / box.width), 'drag pans by as much as the pointer moved');
  near(after.to - after.from, before.to - before.from, 4, 'and does not zoom');
  await tab.page.keyboard.down('Shift');
  await tab.page.mouse.wheel(0, 300);
  await tab.page.keyboard.up('Shift');
  const moved = await tab.view();
  ok(moved.from > after.from && Math.abs(moved.to - moved.from - (after.to - after.from)) < 4, 'Shift + wheel pans');
  await tab.close('wheel and drag');
}

async function keys({ browser, one }) {
  const meta = await one.json('meta');
  const start = { from: Math.round(meta.length_ns * 0.4), to: Math.round(meta.length_ns * 0.6) };
  const tab = await Tab.open(browser, one, `page=timeline&t0=${start.from}&t1=${start.to}`, { wait: '.lane-label' });
  const press = async (key) => (await tab.page.keyboard.press(key), tab.view());
  const width = (view) => view.to - view.from;
  let last = await tab.view();
  const step = async (key, good, name) => {
    const next = await press(key);
    ok(good(next ?? whole(meta), last), name, `${JSON.stringify(last)} then ${JSON.stringify(next)}`);
    last = next ?? whole(meta);
  };
  await step('w', (a, b) => width(a) < width(b) * 0.7, 'W comes nearer');
  await step('d', (a, b) => a.from > b.from && Math.abs(width(a) - width(b)) < 3, 'D goes right');
  await step('a', (a, b) => a.from < b.from && Math.abs(width(a) - width(b)) < 3, 'A goes left');
  await step('ArrowRight', (a, b) => a.from > b.from, 'right arrow');
  await step('ArrowLeft', (a, b) => a.from < b.from, 'left arrow');
  await step('s', (a, b) => width(a) > width(b) * 1.4, 'S goes away');
  await step('+', (a, b) => width(a) < width(b), '+ comes nearer');
  await step('-', (a, b) => width(a) > width(b), '- goes away');
  await step('f', (a) => a.from <= 0 && a.to >= meta.length_ns, 'F shows everything');

  // one inference after the other
  const runs = (await one.slices('ml', 0, meta.length_ns, FINE)).filter((slice) => meta.locations[slice.location].category === 'inference' && meta.locations[slice.location].model === 0);
  const middle = runs.sort((a, b) => a.start - b.start)[Math.floor(runs.length / 2)];
  await tab.page.evaluate((id) => (location.hash = `${location.hash}&slice=${id}`), middle.id);
  await tab.page.waitForSelector('.details');
  const { same, start: began, duration } = await one.json(`slice?id=${middle.id}`);
  await tab.page.keyboard.press(']');
  is(Number(await tab.part('slice')), same.next, '] goes to the next of its kind');
  await tab.page.keyboard.press('[');
  is(Number(await tab.part('slice')), middle.id, '[ goes back');
  if (same.slower !== null) {
    await tab.page.keyboard.press('.');
    is(Number(await tab.part('slice')), same.slower, '. goes to the next slower one');
    await tab.page.evaluate(([hash, id]) => (location.hash = hash.replace(/slice=\d+/, `slice=${id}`)), [new URL(tab.page.url()).hash, middle.id]);
    is(Number(await tab.part('slice')), middle.id, 'an address that is changed selects');
  }
  const fitted = await press('f');
  near(fitted.from, began - duration * 0.1, 2, 'F shows the selected one: begin');
  near(fitted.to, began + duration * 1.1, 2, 'F shows the selected one: end');
  await tab.page.keyboard.press('m');
  is(await tab.part('range'), `${Math.round(began)}-${Math.round(began + duration)}`, 'M measures the selected one');
  await tab.page.keyboard.press('Escape');
  is([await tab.part('range'), await tab.part('slice')], [null, String(middle.id)], 'Esc clears the range first');
  await tab.page.keyboard.press('Escape');
  is(await tab.part('slice'), null, 'then the selection');
  await becomes(() => tab.page.locator('.details').count(), 0, 'and the details are gone');
  await tab.close('keys');
}

async function range({ browser, one }) {
  const meta = await one.json('meta');
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  await tab.settle(); // what still comes may move the ruler
  const ruler = await tab.box('.axis canvas');
  const y = ruler.y + ruler.height - 10;
  const end = Math.round(ruler.width) - 20; // the last inferences are in it, however long loading took
  await tab.page.mouse.move(ruler.x + 300, y);
  await tab.page.mouse.down();
  await tab.page.mouse.move(ruler.x + end, y, { steps: 5 });
  await tab.page.mouse.up();
  await tab.page.waitForSelector('.range-words');
  await tab.page.waitForFunction(() => location.hash.includes('range='));
  const [from, to] = (await tab.part('range')).split('-').map(Number);
  const perPixel = (meta.length_ns) / ruler.width;
  near(from, 300 * perPixel, 3 * perPixel, 'drag on the ruler: begin');
  near(to, end * perPixel, 3 * perPixel, 'drag on the ruler: end');
  // the page asks with more digits than the address has
  const asked = new URL(tab.requests.filter((url) => url.includes('/range?')).at(-1));
  near(Number(asked.searchParams.get('t0')), from, 1, 'the statistics are of this range');
  const stats = await one.json(`range${asked.search}`);
  await tab.page.waitForSelector('.range-words b:has-text("cores")');
  const words = await eventually(async () => squeeze(await tab.page.locator('.range-words').innerText()), (text) => text.includes(`inferences ${stats.inferences.n}`));
  contains(words, `inferences ${stats.inferences.n}`, 'as many inferences as the API says');
  const shown = words.match(/median ([\d.]+)\s?(µs|ms|s)/);
  near(Number(shown?.[1]) * { µs: 1e3, ms: 1e6, s: 1e9 }[shown?.[2]], stats.inferences.median_ns, stats.inferences.median_ns * 0.006, 'the median as the API says');
  near(number(words.match(/CPU ([\d.]+) cores/)?.[1]), stats.cpu.busy_cores, 0.051, 'cores as the API says');
  const seen = await eventually(() => tab.colours([[600, 3], [100, 3]]), ([inside, outside]) => inside !== outside);
  ok(seen[0] !== seen[1], 'the range is tinted', seen.join(' '));
  await tab.shot('timeline-range');
  await tab.page.mouse.move(ruler.x + 100, y);
  await tab.page.mouse.down();
  await tab.page.mouse.up();
  is(await tab.part('range'), null, 'a click on the ruler clears it');

  const canvas = await tab.box('canvas.tracks');
  await tab.page.keyboard.down('Shift');
  await tab.page.mouse.move(canvas.x + 200, canvas.y + 8);
  await tab.page.mouse.down();
  await tab.page.mouse.move(canvas.x + 500, canvas.y + 8, { steps: 3 });
  await tab.page.mouse.up();
  await tab.page.keyboard.up('Shift');
  ok(await tab.part('range'), 'Shift + drag on the tracks measures, too');
  // the map of the whole trace moves the view
  await tab.page.keyboard.press('Escape');
  await tab.page.keyboard.press('w');
  await tab.page.keyboard.press('w');
  await tab.settle();
  await tab.page.mouse.click(ruler.x + ruler.width * 0.8, ruler.y + 10);
  const moved = await tab.view();
  near((moved.from + moved.to) / 2, meta.length_ns * 0.8, (moved.to - moved.from) * 0.05 + 3 * perPixel, 'a click on the map goes there');
  is(await tab.part('range'), null, 'and measures nothing');
  await tab.page.mouse.dblclick(ruler.x + 400, ruler.y + ruler.height - 8);
  const all = await tab.view();
  ok(!all || (all.from <= 0 && all.to >= meta.length_ns), 'double click on the ruler shows everything', JSON.stringify(all));
  await tab.close('range');
}

async function details({ browser, one }) {
  const meta = await one.json('meta');
  const model = meta.tracks.find((track) => track.kind === 'model');
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  const first = await pointOf(tab, one, meta, model.id, whole(meta), 'inference');
  const around = aroundOf(first, meta);
  await tab.page.evaluate((hash) => (location.hash = hash), `page=timeline&t0=${around.from}&t1=${around.to}`);
  await tab.settle();
  const at = await pointOf(tab, one, meta, model.id, around, 'inference');
  await tab.page.mouse.move(at.lane.left + at.middle, at.lane.canvasTop + at.y + 8);
  await tab.page.waitForSelector('.hover');
  await comesToContain(() => tab.page.locator('.hover').innerText(), meta.models.find((one_) => one_.id === model.model).name, 'what is under the pointer is named');
  await tab.page.mouse.click(at.lane.left + at.middle, at.lane.canvasTop + at.y + 8);
  await tab.page.waitForSelector('.details-facts');
  is(Number(await tab.part('slice')), at.id, 'a click selects the slice of the API');
  const slice = await one.json(`slice?id=${at.id}`);
  await tab.page.waitForFunction((tid) => document.querySelector('.details').innerText.includes(tid), `tid ${slice.thread.tid}`);
  const text = squeeze(await tab.page.locator('.details').innerText());
  contains(text, 'Inference', 'its category');
  contains(text, meta.models.find((one_) => one_.id === slice.model).name, 'its model');
  contains(text, `tid ${slice.thread.tid}`, 'its thread');
  const shown = text.match(/Duration ([\d.]+)\s?(ns|µs|ms|s)/);
  near(Number(shown?.[1]) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[shown?.[2]], slice.duration, slice.duration * 0.006, 'its duration');
  contains(text.toLowerCase(), 'all inferences', 'how usual it is');
  contains(text, `${slice.same.n}`, 'among how many');
  if (slice.children.length) contains(text, slice.children[0].name, 'what is inside it');
  if (slice.samples?.n) {
    const top = slice.samples.functions.filter((one_) => one_.self > 0)[0];
    ok((await tab.page.locator('.details .mono[title]').evaluateAll((cells, name) => cells.some((cell) => cell.title === name), top.name)), 'the function that ran most', top.name);
  }
  for (const { key, value } of slice.args.slice(0, 3)) contains(text, String(value).slice(0, 40), `argument ${key}`);
  await tab.shot('timeline-details');
  // the longest one may be the last
  const step = slice.same.next === null ? 'previous' : 'next';
  await tab.page.getByRole('button', { name: `${step === 'next' ? 'Next' : 'Previous'} of the same kind` }).click();
  is(Number(await tab.part('slice')), slice.same[step], 'the button goes to its neighbour');
  await tab.page.getByRole('button', { name: 'Close' }).first().click();
  is(await tab.part('slice'), null, 'and this one closes');
  const here = await tab.view();
  const again = await pointOf(tab, one, meta, model.id, here, 'inference');
  await tab.page.mouse.dblclick(again.lane.left + again.middle, again.lane.canvasTop + again.y + 8);
  const fitted = await tab.view();
  near(fitted.to - fitted.from, again.duration * 1.2, again.duration * 0.02, 'double click shows all of it');
  await tab.close('details');
}

async function search({ browser, one }) {
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  await tab.page.keyboard.press('/');
  await becomes(() => tab.page.evaluate(() => document.activeElement?.tagName), 'INPUT', '/ goes to the search');
  await tab.page.keyboard.type('Conv');
  await tab.page.waitForSelector('.found button');
  const found = await one.json('find?q=Conv&limit=50');
  const first = await eventually(() => tab.page.locator('.found button').first().innerText(), (text) => text.includes(found.hits[0].name));
  contains(first, found.hits[0].name, 'the first hit is that of the API');
  contains(first, String(found.hits[0].count), 'with its count');
  await tab.shot('timeline-search');
  const plain = await tab.part('slice');
  await tab.page.keyboard.press('Enter');
  is([plain, Number(await tab.part('slice'))], [null, found.hits[0].first], 'Enter goes to its first event');
  is(await tab.part('q'), 'Conv', 'the search is in the address');
  await tab.page.evaluate(() => document.activeElement?.blur());
  const slice = await one.json(`slice?id=${found.hits[0].first}`);
  const next = await one.json(`next?locations=${found.hits.map((hit) => hit.location).join(',')}&from=${slice.start}&dir=1`);
  await tab.page.keyboard.press('n');
  is(Number(await tab.part('slice')), next.id, 'N goes to the next hit');
  await tab.page.keyboard.press('Shift+N');
  const back = await one.json(`next?locations=${found.hits.map((hit) => hit.location).join(',')}&from=${next.start}&dir=-1`);
  is(Number(await tab.part('slice')), back.id, 'Shift + N goes back');
  await tab.page.keyboard.press('/');
  await tab.page.keyboard.press('Control+A');
  await tab.page.keyboard.type('no such thing at all');
  await tab.page.waitForSelector('.found p');
  await comesToContain(() => tab.page.locator('.found').innerText(), 'no such thing at all', 'nothing found is said');
  await tab.page.keyboard.press('Escape');
  is(await tab.part('q'), null, 'Esc clears the search');
  await tab.close('search');
}

async function choices({ browser, one }) {
  const meta = await one.json('meta');
  const tab = await Tab.open(browser, one, 'page=timeline', { wait: '.lane-label' });
  await tab.settle();
  const before = await tab.tracks();
  const models = meta.tracks.filter((track) => track.kind === 'model');
  await tab.page.keyboard.press('t');
  is(await tab.part('model'), String(meta.models[0].id), 'T: only the first model');
  await becomes(async () => (await tab.tracks()).filter((id) => models.some((model) => model.id === id)), [models.find((model) => model.model === meta.models[0].id).id], 'the other one is not shown');
  await tab.page.locator('.toolbar button:has-text("Only")').click();
  await becomes(tab.tracks, before, 'one click brings it back');

  const thread = meta.tracks.find((track) => track.samples > 0 && track.kind === 'thread');
  const label = tab.page.locator(`[data-track="${thread.id}"]`);
  await label.scrollIntoViewIfNeeded();
  const low = await tab.lane(thread.id);
  await label.locator('.samples').click();
  await tab.settle();
  await tab.page.waitForFunction(([id, height]) => document.querySelector(`[data-track="${id}"]`).getBoundingClientRect().height > height, [thread.id, low.height]);
  ok(tab.requests.some((url) => url.includes('/sampled_calls?')), 'samples: sampled calls are asked for');
  await label.scrollIntoViewIfNeeded();
  await tab.settle();
  const high = await tab.lane(thread.id);
  const edge = await tab.css('--sampled-call-edge');
  const fill = await tab.css('--sampled-call-fill');
  const grid = [];
  for (let y = Math.max(high.top + low.height - 4, 0); y < high.top + high.height - 4; y += 3) for (let x = 20; x < high.width; x += 9) grid.push([x, y]);
  const seen = await eventually(() => tab.colours(grid), (list) => list.filter((colour) => apart(colour, fill) < 3).length > 20 && list.some((colour) => apart(colour, edge) < 40));
  ok(seen.filter((colour) => apart(colour, fill) < 3).length > 20, 'sampled calls are drawn', `fill ${fill}, ${new Set(seen).size} colours`);
  ok(seen.some((colour) => apart(colour, edge) < 40), 'with their edges', edge);
  await tab.shot('timeline-sampled-calls');
  await label.focus();
  await tab.page.keyboard.press('g');
  await tab.page.waitForFunction(([id, height]) => document.querySelector(`[data-track="${id}"]`).getBoundingClientRect().height <= height, [thread.id, low.height]);
  ok(true, 'G takes them away again');

  await label.focus();
  await tab.page.keyboard.press('p');
  await becomes(async () => (await tab.tracks())[0], thread.id, 'P pins to the top');
  await tab.page.locator(`[data-track="${thread.id}"]`).focus();
  await tab.page.keyboard.press('p');
  await becomes(tab.tracks, before, 'and back');
  await tab.page.locator(`[data-track="${thread.id}"]`).focus();
  await tab.page.keyboard.press('h');
  await comesTrue(async () => !(await tab.tracks()).includes(thread.id), 'H hides');
  await tab.page.locator('.toolbar button:has-text("hidden")').click();
  await becomes(tab.tracks, before, 'what is hidden can be shown again');
  const ml = tab.page.locator(`[data-track="${models[0].id}"]`);
  await ml.focus();
  await tab.page.keyboard.press('ArrowLeft');
  await comesTrue(async () => (await tab.tracks()).length < before.length, 'left arrow on a label closes it');
  await becomes(() => ml.getAttribute('aria-expanded'), 'false', 'which is told to screen readers');
  await tab.page.keyboard.press('ArrowRight');
  await becomes(tab.tracks, before, 'right arrow opens it');
  await tab.close('choices');
}

/** A trace with the inputs of one of its two inferences. */
async function inputs({ browser }) {
  const served = await Served.start(process.env.UI_INPUTS);
  try {
    const tab = await Tab.open(browser, served, 'page=timeline&slice=0', { wait: '.details-facts' });
    const download = tab.page.waitForEvent('download');
    await tab.page.getByRole('button', { name: 'Export inputs' }).click();
    const saved = await download;
    is(saved.suggestedFilename(), 'inputs-0.npz', 'inputs are saved under a name of their own');
    const bytes = Buffer.from(await (await served.get('inputs?id=0')).arrayBuffer());
    ok(bytes.equals(await readFile(await saved.path())), 'the file is that of the API');
    await tab.page.evaluate((hash) => (location.hash = hash), 'page=timeline&slice=1');
    await becomes(() => tab.page.getByRole('button', { name: 'Export inputs' }).count(), 0, 'without inputs there is no button');
    await tab.close('inputs');
  } finally {
    await served.stop();
  }
}

export default { tracks, colours, wheelAndDrag, keys, range, details, inputs, search, choices };
