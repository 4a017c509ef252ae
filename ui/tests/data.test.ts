// SPDX-License-Identifier: Apache-2.0
// The address, what the page shows, and what of each track is here.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import { applyAddress, readAddress, writeAddress } from '../src/data/address.ts';
import { Loader } from '../src/data/loader.ts';
import { PAGES, State } from '../src/data/state.ts';
import { FakeSource, meta, settle, slices } from './fakes.ts';

const state = (id = 0): State => new State(new FakeSource().source, meta(), id);

test('address: everything survives the way there and back', () => {
  const a = state(3);
  a.page.set('flame');
  a.show({ from: 1234, to: 567890 });
  a.selection.set({ slice: 42 });
  a.range.set({ from: 100, to: 200 });
  a.model.set(1);
  a.functionId.set(7);
  a.search.set('Conv + "ünï" #&=%');
  a.flows.set(true);
  a.theme.set('dark');
  const text = writeAddress(a);
  const b = state(3);
  applyAddress(b, readAddress(`#${text}`));
  assert.equal(writeAddress(b), text);
  assert.deepEqual([b.page.value, b.view.value, b.selection.value, b.range.value, b.model.value, b.functionId.value, b.search.value, b.flows.value, b.theme.value],
    ['flame', { from: 1234, to: 567890 }, { slice: 42 }, { from: 100, to: 200 }, 1, 7, 'Conv + "ünï" #&=%', true, 'dark']);
  assert.equal(readAddress(text).trace, 3);
});

test('address: how pages are set, and a way back that forgets what came later', () => {
  const a = state();
  a.set('group', 'op');
  a.set('order', 'time');
  a.set('order', '');
  const before = writeAddress(a);
  assert.deepEqual(readAddress(before).settings, { group: 'op' });
  a.page.set('timeline');
  a.selection.set({ slice: 4 });
  a.search.set('Conv');
  a.show({ from: 5, to: 6e5 });
  applyAddress(a, readAddress(before), true);
  assert.equal(writeAddress(a), before);
});

test('address: every page', () => {
  for (const page of PAGES) {
    const a = state();
    a.page.set(page);
    assert.equal(readAddress(writeAddress(a)).page, page);
  }
});

test('address: the token is never written, and the whole trace needs no times', () => {
  const text = writeAddress(state());
  assert.ok(!text.includes('token') && !text.includes('t0'), text);
  assert.equal(readAddress('#token=abc&page=timeline').token, 'abc');
});

test('address: nonsense is ignored', () => {
  const read = readAddress('#page=nowhere&t0=x&t1=&slice=NaN&range=5&model=Infinity&theme=pink&trace=one');
  assert.deepEqual(read, { ...read, page: null, from: null, to: null, slice: null, range: null, model: null, theme: null, trace: 0 });
  assert.equal(readAddress('#range=9-3').range, null);
  assert.equal(readAddress('').page, null);
  const a = state();
  applyAddress(a, readAddress('#t0=900&t1=100'));
  assert.equal(a.view.value.from < a.view.value.to, true);
});

test('state: going to a stretch of time shows it with air around it', () => {
  const a = state();
  a.goTo(4e8, 5e8, 9);
  assert.equal(a.page.value, 'timeline');
  assert.equal(a.selection.value?.slice, 9);
  assert.ok(a.view.value.from < 4e8 && a.view.value.to > 5e8);
});

test('loader: asks for the view and one on each side', () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  assert.equal(loader.get('slices', 't0', { from: 4e8, to: 5e8 }, 1000), null);
  assert.deepEqual(source.asked[0]!.window, { from: 3e8, to: 6e8, px: 3000 });
  loader.get('slices', 't1', { from: 0, to: 1e9 }, 1000);
  assert.deepEqual(source.asked[1]!.window, { from: 0, to: 1e9 + 1, px: 1000 });
});

test('loader: the old stays until the new is there', async () => {
  const source = new FakeSource();
  let changes = 0;
  const loader = new Loader(source.source, 1e9, () => changes++);
  const first = slices([[0, 0, 10, 0]]);
  loader.get('slices', 't0', { from: 0, to: 1e9 }, 1000);
  source.asked[0]!.answer(first);
  await settle();
  assert.equal(changes, 1);
  assert.equal(loader.get('slices', 't0', { from: 0, to: 1e9 }, 1000), first);
  assert.equal(source.asked.length, 1);
  const near = { from: 4e8, to: 4.1e8 };
  assert.equal(loader.get('slices', 't0', near, 1000), first);
  assert.equal(source.asked.length, 2);
  assert.equal(loader.get('slices', 't0', near, 1000), first);
  assert.equal(source.asked.length, 2, 'the same question is asked once');
  const second = slices([[0, 4e8, 5, 0]]);
  source.asked[1]!.answer(second);
  await settle();
  assert.equal(loader.get('slices', 't0', near, 1000), second);
});

test('loader: a little panning and zooming asks nothing', async () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  loader.get('values', 'c', { from: 4e8, to: 5e8 }, 1000);
  source.asked[0]!.answer(slices([]));
  await settle();
  loader.get('values', 'c', { from: 4.5e8, to: 5.5e8 }, 1000);
  loader.get('values', 'c', { from: 4.1e8, to: 4.9e8 }, 1000);
  loader.get('values', 'c', { from: 3.5e8, to: 5.5e8 }, 1000);
  assert.equal(source.asked.length, 1);
  loader.get('values', 'c', { from: 7e8, to: 8e8 }, 1000);
  assert.equal(source.asked.length, 2);
});

test('loader: a question that is overtaken is given up, and its answer is not taken', async () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  loader.get('slices', 't0', { from: 0, to: 1e8 }, 1000);
  loader.get('slices', 't0', { from: 8e8, to: 9e8 }, 1000);
  assert.equal(source.asked[0]!.stop?.aborted, true);
  const late = slices([[0, 1, 1, 1]]);
  source.asked[1]!.answer(slices([]));
  source.asked[0]!.answer(late);
  await settle();
  assert.ok(loader.get('slices', 't0', { from: 8e8, to: 9e8 }, 1000) !== late);
});

test('loader: at most four questions at once, and those still waiting are replaced', async () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  for (let i = 0; i < 10; i++) loader.get('slices', `t${i}`, { from: 0, to: 1e9 }, 1000);
  assert.equal(source.asked.length, 4);
  for (let i = 0; i < 10; i++) loader.get('slices', `t${i}`, { from: 4e8, to: 4.1e8 }, 1000);
  let most = 0;
  for (let round = 0; round < 40 && !loader.idle; round++) {
    const open = source.asked.filter((one) => !(one as { done?: boolean }).done);
    most = Math.max(most, open.length);
    (open[0] as { done?: boolean } | undefined) && ((open[0] as { done?: boolean }).done = true);
    open[0]?.answer(slices([]));
    await settle();
  }
  assert.equal(loader.idle, true);
  assert.equal(most, 4);
  assert.equal(source.asked.length, 14, 'four that had begun, then each once for the newer view');
});

test('loader: what failed is told, and is asked again only for another view', async () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  const view = { from: 0, to: 1e9 };
  loader.get('slices', 't0', view, 1000);
  source.asked[0]!.fail(new Error('no such track'));
  await settle();
  assert.equal(loader.error('slices', 't0'), 'no such track');
  loader.get('slices', 't0', view, 1000);
  assert.equal(source.asked.length, 1, 'no storm of requests');
  loader.get('slices', 't0', { from: 1e8, to: 2e8 }, 1000);
  source.asked[1]!.answer(slices([]));
  await settle();
  assert.equal(loader.error('slices', 't0'), '');
});

test('loader: forgetting stops everything', async () => {
  const source = new FakeSource();
  const loader = new Loader(source.source, 1e9, () => undefined);
  for (let i = 0; i < 8; i++) loader.get('slices', `t${i}`, { from: 0, to: 1e9 }, 1000);
  loader.forget();
  assert.ok(source.asked.every((one) => one.stop?.aborted));
  for (const one of source.asked) one.fail(new Error('aborted'));
  await settle();
  assert.equal(source.asked.length, 4);
  assert.equal(loader.idle, true);
});
