// SPDX-License-Identifier: Apache-2.0
// Around the pages: addresses, themes, who is let in, what is said when nothing can be shown, keys, small screens.
import { join } from 'node:path';
import { PAGES } from './pages.mjs';
import { Served, TRACES, Tab, apart, becomes, comesToContain, comesTrue, contains, eventually, is, ok } from './lib.mjs';

async function deepLink({ browser, one }) {
  const meta = await one.json('meta');
  const [from, to] = [Math.round(meta.length_ns * 0.42), Math.round(meta.length_ns * 0.58)];
  const inference = (await one.slices('ml', from, to, 2000)).find((slice) => meta.locations[slice.location].category === 'inference' && slice.merged === 1);
  const wanted = `page=timeline&t0=${from}&t1=${to}&slice=${inference.id}&range=${from + 1000}-${to - 1000}&model=${meta.models[0].id}&q=Conv&theme=dark`;
  const tab = await Tab.open(browser, one, wanted, { wait: '.details-facts' });
  await tab.settle();
  const parts = await tab.fragment();
  ok(!parts.has('token'), 'the token is taken out of the address');
  is(Object.fromEntries(parts), Object.fromEntries(new URLSearchParams(wanted)), 'a link brings back view, selection, range, model, search and theme');
  await tab.page.waitForSelector('.range-words');
  await comesToContain(() => tab.page.locator('.toolbar').innerText(), meta.models[0].name, 'the filter is shown');
  is(await tab.page.locator('.search input').inputValue(), 'Conv', 'the search is shown');
  is(await tab.page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'the theme is on');
  await tab.shot('timeline-dark');
  await tab.page.reload();
  await tab.page.waitForSelector('.details-facts');
  await tab.settle();
  is(Object.fromEntries(await tab.fragment()), Object.fromEntries(new URLSearchParams(wanted)), 'and survives a reload, token and all');
  await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.page.keyboard.press('y');
  await tab.page.waitForSelector('.notice');
  const link = await tab.page.evaluate(() => navigator.clipboard.readText());
  ok(link.startsWith(`${one.origin}/#`) && !link.includes(one.token) && link.includes(`t0=${from}`), 'Y copies a link without the token', link);
  await tab.close('deep link');
}

async function themes({ browser, one }) {
  const dark = await Tab.open(browser, one, '', { colorScheme: 'dark' });
  await dark.settle();
  is(await dark.page.evaluate(() => document.documentElement.dataset.theme), 'dark', "dark by the system's choice");
  const background = await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  is(background, 'rgb(16, 19, 23)', 'the page is dark');
  await dark.page.getByRole('button', { name: 'Light or dark' }).click();
  await becomes(() => dark.page.evaluate(() => document.documentElement.dataset.theme), 'light', 'one click makes it light');
  await dark.page.locator('.tab:has-text("Timeline")').click();
  await dark.page.waitForSelector('.lane-label');
  await dark.settle();
  const light = await dark.css('--bg');
  await dark.page.keyboard.press('l');
  const bg = await eventually(() => dark.css('--bg'), (colour) => colour !== light);
  const lane = await dark.lane((await dark.tracks()).at(-1));
  const seen = () => dark.colours([[5, Math.min(lane.top + lane.height + 6, 500)], [5, 2]]);
  await comesTrue(async () => (await seen()).some((colour) => apart(colour, bg) < 14), 'the canvas follows', async () => `${await seen()} background ${bg}`);
  await dark.close('themes');
}

async function refused({ browser, one }) {
  const wrong = await Tab.open(browser, one, `${one.origin}/#token=${'0'.repeat(32)}`, { wait: '.state-page h1', expectTrouble: true });
  contains(await wrong.page.locator('h1').innerText(), 'no valid token', 'a wrong token is refused');
  contains(await wrong.page.locator('.state-page').innerText(), 'inferogram serve', 'and the way out is named');
  await wrong.shot('state-token');
  await wrong.close('wrong token');
  const none = await Tab.open(browser, one, `${one.origin}/`, { wait: '.state-page h1', expectTrouble: true });
  contains(await none.page.locator('h1').innerText(), 'no valid token', 'no token: the same');
  await none.close('no token');
}

async function gone({ browser }) {
  const served = await Served.start(join(TRACES, 'plain.ifg'));
  const tab = await Tab.open(browser, served, 'page=timeline', { wait: '.lane-label', expectTrouble: true });
  await tab.settle();
  const before = await tab.tracks();
  await served.stop();
  await tab.page.keyboard.press('w');
  await tab.page.keyboard.press('w');
  await tab.settle();
  is(await tab.tracks(), before, 'the server is gone: what was there stays');
  await tab.page.locator('.tab:has-text("Summary")').click();
  await comesToContain(() => tab.page.locator('main').innerText(), 'does not answer', 'what cannot be had says why');
  await tab.page.goto('about:blank');
  await tab.page.goto(`${served.origin}/`).catch(() => undefined);
  is(tab.troubles.filter((words) => !/Failed to load resource|ERR_CONNECTION/.test(words)), [], 'and nothing breaks');
  await tab.context.close();
}

async function picker({ browser, many }) {
  const list = (await many.json('/api/traces')).traces;
  const tab = await Tab.open(browser, many, '', { wait: '.picker tbody tr', expectTrouble: true });
  const newest = [...list].sort((a, b) => (a.state === 'bad') - (b.state === 'bad') || (a.start < b.start ? 1 : a.start > b.start ? -1 : a.id - b.id));
  is(await tab.page.locator('.picker tbody td:first-child').allInnerTexts(), newest.map((trace) => trace.name), 'several traces: a list, newest first');
  const bad = tab.page.locator('.picker tbody tr:has(.bad-word)');
  await becomes(() => bad.count(), 1, 'the damaged one is marked');
  contains(await bad.innerText(), list.find((trace) => trace.state === 'bad').why.slice(0, 40), 'and says why');
  is(await bad.locator('a').count(), 0, 'and cannot be opened');
  await tab.shot('picker');
  await tab.page.locator('.picker a:has-text("silero.ifg")').click();
  await tab.page.waitForSelector('.frame');
  await comesToContain(() => tab.page.locator('.program').innerText(), 'vad.js', 'a click opens one');
  is(await tab.part('trace'), String(list.find((trace) => trace.name === 'silero.ifg').id), 'which is in the address');
  const forced = await Tab.open(browser, many, `trace=${list.find((trace) => trace.state === 'bad').id}`, { wait: '.state-page h1', expectTrouble: true });
  contains(await forced.page.locator('.state-page').innerText(), 'cannot be shown', 'a link to the damaged one says so');
  await forced.shot('state-damaged');
  await forced.close('a damaged trace');
  await tab.close('picker');
}

/** At 200 % a screen of 1600 x 900 is 800 x 450. */
async function large({ browser, one }) {
  const tab = await Tab.open(browser, one, '', { viewport: { width: 800, height: 450 }, deviceScaleFactor: 2 });
  for (const page of PAGES) {
    await tab.page.evaluate((name) => (location.hash = `page=${name}`), page);
    await tab.settle();
    const widths = () => tab.page.evaluate(() => ({ body: document.documentElement.scrollWidth, bar: document.querySelector('.bar').scrollWidth, main: document.querySelector('main')?.scrollWidth ?? 0, window: innerWidth }));
    const wide = await eventually(widths, ({ body, bar, window }) => body <= window && bar <= window + 1);
    ok(wide.body <= wide.window && wide.bar <= wide.window + 1, `200 %: ${page} needs no scrolling to the right`, JSON.stringify(wide));
    const cut = await tab.page.evaluate(() => [...document.querySelectorAll('.bar button, .bar input, .bar a')].filter((one) => one.getClientRects().length && (one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().left < -1)).map((one) => one.textContent || one.getAttribute('aria-label')));
    is(cut, [], `200 %: ${page}: the whole bar can be reached`);
    await tab.shot(`zoomed-${page}`);
  }
  await tab.close('200 %');
}

/** Screens between the two: nothing of the bar is lost. */
async function widths({ browser, many }) {
  const tab = await Tab.open(browser, many, `trace=${(await many.json('/api/traces')).traces.find((trace) => trace.name === 'ocr.ifg').id}&page=timeline`, { wait: '.lane-label' });
  for (const width of [1440, 1280, 1180, 1024, 640]) {
    await tab.page.setViewportSize({ width, height: 720 });
    const cut = () => tab.page.evaluate(() => [...document.querySelectorAll('.bar button, .bar input, .bar a')].filter((one) => {
      const [inner, outer] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
      return inner.right > Math.min(innerWidth, outer.right) + 1 || inner.left < outer.left - 1;
    }).map((one) => one.textContent || one.getAttribute('aria-label')));
    await becomes(cut, [], `${width} pixels: the whole bar is seen`);
  }
  await tab.close('widths');
}

async function keyboard({ browser, one }) {
  const tab = await Tab.open(browser, one, '');
  await tab.page.waitForSelector('.summary-middle');
  const seen = [];
  for (let i = 0; i < 40; i++) {
    await tab.page.keyboard.press('Tab');
    const now = await tab.page.evaluate(() => {
      const one_ = document.activeElement;
      if (!one_ || one_ === document.body) return null;
      const style = getComputedStyle(one_);
      const around = one_.closest('.search') ?? one_;
      const box = one_.getBoundingClientRect();
      return { name: one_.getAttribute('aria-label') || one_.textContent.trim().slice(0, 30) || one_.tagName, shown: style.outlineStyle !== 'none' || style.boxShadow !== 'none' || getComputedStyle(around).borderColor !== '', y: box.top, tab: one_.classList.contains('tab') };
    });
    if (!now) break;
    seen.push(now);
  }
  ok(seen.length > 15, 'Tab walks through the page', seen.map((one_) => one_.name).join(', '));
  const names = seen.map((one_) => one_.name);
  const order = ['Summary', 'Timeline', 'Search names and models', 'Copy a link to this view', 'Light or dark'].map((name) => names.indexOf(name));
  ok(order.every((at) => at >= 0) && order.every((at, i) => i === 0 || at > order[i - 1]), 'pages, search, link, theme: in the order they are seen', names.slice(0, 16).join(', '));
  is(seen.filter((one_) => !one_.shown).map((one_) => one_.name), [], 'the focus is always seen');
  await tab.page.locator('.tab:has-text("Timeline")').focus();
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForSelector('.lane-label');
  is(await tab.part('page'), 'timeline', 'Enter opens a page');
  await tab.page.locator('.lane-label').first().focus();
  const ring = await tab.page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== 'none' || getComputedStyle(document.activeElement).boxShadow !== 'none');
  ok(ring, "a track's label shows the focus");
  await tab.shot('keyboard-focus');
  await tab.page.keyboard.press('?');
  await tab.page.waitForSelector('dialog[open]');
  contains(await tab.page.locator('dialog').innerText(), 'Zoom at the cursor', '? shows the keys');
  await tab.shot('help');
  await tab.page.keyboard.press('Escape');
  await becomes(() => tab.page.locator('dialog[open]').count(), 0, 'Esc closes them');
  const unnamed = await tab.page.evaluate(() => [...document.querySelectorAll('button, a, input, select, canvas')].filter((one_) => one_.getClientRects().length && !one_.closest('[aria-hidden="true"]') && !one_.getAttribute('aria-label') && !one_.textContent.trim() && !one_.getAttribute('title') && !one_.closest('label')).map((one_) => one_.outerHTML.slice(0, 80)));
  is(unnamed, [], 'everything that can be used has a name');
  await tab.close('keyboard');
}

async function motion({ browser, one }) {
  const meta = await one.json('meta');
  // how many states of the view are seen on the way
  const steps = (tab) =>
    tab.page.evaluate(async () => {
      const label = document.querySelector('.axis-label div:nth-child(2) span');
      const pause = (ms) => new Promise((done) => setTimeout(done, ms));
      const seen = new Set();
      const watch = new MutationObserver(() => seen.add(label.textContent));
      watch.observe(label, { childList: true, characterData: true, subtree: true });
      dispatchEvent(new KeyboardEvent('keydown', { key: 'w' }));
      for (let round = 0; !seen.size && round < 500; round++) await pause(20);
      await pause(400);
      watch.disconnect();
      return seen.size;
    });
  const open = (reducedMotion) => Tab.open(browser, one, `page=timeline&t0=0&t1=${meta.length_ns}`, { wait: '.lane-label', reducedMotion });
  const still = await open('reduce');
  await still.settle();
  is(await steps(still), 1, 'reduced motion: the view jumps');
  await still.close('motion: reduced');
  const moving = await open('no-preference');
  await moving.settle();
  // a page that gets no CPU jumps, too
  ok((await eventually(() => steps(moving), (n) => n > 1)) > 1, 'else it glides');
  await moving.close('motion');
}

export default { deepLink, themes, refused, gone, picker, large, widths, keyboard, motion };
