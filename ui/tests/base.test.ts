// SPDX-License-Identifier: Apache-2.0
// Numbers for people, the part of the time on the screen, values that are watched.
import { test } from 'node:test';
import * as assert from 'node:assert/strict';
import { bytes, clock, count, duration, fixed, moment, percent, quantity, thousands } from '../src/base/format.ts';
import { batch, signal } from '../src/base/signal.ts';
import { clicked, compare, sorted } from '../src/base/sort.ts';
import { SHORTEST, clamp, pan, span, ticks, toPixel, toTime, zoom } from '../src/base/view.ts';

/** Thin spaces are hard to read in a test. */
const plain = (text: string): string => text.replaceAll('\u2009', ' ');

test('duration: three digits and a unit', () => {
  const cases: [number, string][] = [
    [0, '0 ns'], [1, '1 ns'], [0.4, '0.4 ns'], [999, '999 ns'], [999.7, '1.00 µs'], [1000, '1.00 µs'], [9994, '9.99 µs'], [9996, '10.0 µs'],
    [310e3, '310 µs'], [999.4e3, '999 µs'], [999.6e3, '1.00 ms'], [61.84e6, '61.8 ms'], [302e6, '302 ms'], [1e9, '1.00 s'], [119e9, '119 s'], [180e9, '3.00 min'],
    [7200e9, '2.00 h'], [-1500, '-1.50 µs'], [NaN, '–'], [Infinity, '–'],
  ];
  for (const [ns, text] of cases) assert.equal(plain(duration(ns)), text, String(ns));
});

test('fixed: a middle goes to the even digit, as in the report', () => {
  const cases: [number, number, string][] = [
    [3.625, 2, '3.62'], [3.635, 2, '3.63'], [3.875, 2, '3.88'], [-3.625, 2, '-3.62'], [0.5, 0, '0'], [1.5, 0, '2'], [2.5, 0, '2'], [12.25, 1, '12.2'], [12.75, 1, '12.8'], [1.005, 2, '1.00'],
    [8.675, 2, '8.68'], [0, 2, '0.00'],
  ];
  for (const [value, digits, text] of cases) assert.equal(fixed(value, digits), text, String(value));
});

test('moment: as many digits as the step needs', () => {
  assert.equal(moment(0, 1), '0');
  assert.equal(plain(moment(1.5e9, 1e8)), '1.5 s');
  assert.equal(plain(moment(12e9, 1e9)), '12 s');
  assert.equal(plain(moment(1234567890, 1000)), '1.234568 s');
  assert.equal(plain(moment(2.5e6, 1e5)), '2.5 ms');
  assert.equal(plain(moment(1500, 100)), '1.5 µs');
  assert.equal(plain(moment(12, 1)), '12 ns');
});

test('moment: neighbouring marks never look the same', () => {
  for (const step of [1, 5, 20, 500, 1e3, 5e4, 2e6, 1e8, 5e9])
    for (const from of [0, 1e3, 1e6, 1e9, 60e9]) assert.ok(moment(from + step, step) !== moment(from + 2 * step, step), `${from} by ${step}`);
});

test('count, thousands, percent, bytes', () => {
  assert.equal(count(1234567), '1,234,567');
  assert.equal(count(NaN), '–');
  assert.equal(thousands('1234.5678'), '1,234.5678');
  assert.equal(thousands('-1234'), '-1,234');
  assert.equal(plain(percent(0.125)), '12.5 %');
  assert.equal(plain(percent(0.0001)), '< 0.1 %');
  assert.equal(plain(percent(0)), '0.0 %');
  assert.equal(percent(NaN), '–');
  assert.equal(plain(bytes(0)), '0 B');
  assert.equal(plain(bytes(1536)), '1.54 kB');
  assert.equal(plain(bytes(-2.5e9)), '-2.50 GB');
  assert.equal(plain(bytes(5e15)), '5000 TB');
});

test('quantity: in the unit of the counter', () => {
  assert.equal(plain(quantity(4.2, '%')), '4.2 %');
  assert.equal(plain(quantity(99.97, '%')), '100 %');
  assert.equal(plain(quantity(3e6, 'bytes')), '3.00 MB');
  assert.equal(plain(quantity(2e6, 'ns')), '2.00 ms');
  assert.equal(plain(quantity(1500, 'us')), '1.50 ms');
  assert.equal(plain(quantity(1500, 'W')), '1,500 W');
  assert.equal(plain(quantity(1.5, '')), '1.50');
});

test('clock: hours to milliseconds', () => {
  assert.equal(clock(0), '00:00:00.000');
  assert.equal(clock(3661_234e6), '01:01:01.234');
});

test('view: kept inside, with a little air', () => {
  const all = clamp({ from: -1e9, to: 5e9 }, 1e9);
  assert.equal(all.from, -0.02e9);
  assert.equal(all.to, 1.02e9);
  const tiny = clamp({ from: 5, to: 6 }, 1e9);
  assert.equal(span(tiny), SHORTEST);
  const late = clamp({ from: 2e9, to: 2.1e9 }, 1e9);
  assert.equal(Math.round(late.to), 1.02e9);
  assert.equal(Math.round(span(late)), 1e8);
  const broken = clamp({ from: NaN, to: NaN }, 1e9);
  assert.ok(Number.isFinite(broken.from) && span(broken) > 0);
});

test('view: zooming keeps the time under the pointer where it is', () => {
  const view = { from: 2e8, to: 6e8 };
  for (const part of [0, 0.1, 0.5, 0.93, 1])
    for (const factor of [0.2, 0.6, 1.3]) {
      const at = toTime(view, part * 1000, 1000);
      const next = zoom(view, factor, at, 1e9);
      assert.ok(Math.abs(toPixel(next, at, 1000) - part * 1000) < 1e-6, `${part} ${factor}`);
      assert.ok(Math.abs(span(next) - span(view) * factor) < 1e-3);
    }
});

test('view: zooming in and out again ends where it began; panning keeps the width', () => {
  let view = { from: 3e8, to: 5e8 };
  for (let i = 0; i < 20; i++) view = zoom(view, 0.8, 4.2e8, 1e9);
  for (let i = 0; i < 20; i++) view = zoom(view, 1 / 0.8, 4.2e8, 1e9);
  assert.ok(Math.abs(view.from - 3e8) < 1 && Math.abs(view.to - 5e8) < 1);
  assert.equal(Math.round(span(pan({ from: 0, to: 1e8 }, 5e9, 1e9))), 1e8);
  assert.equal(Math.round(pan({ from: 0, to: 1e8 }, -5e9, 1e9).from), -0.02e9);
});

test('view: pixels and times are each other\'s inverse', () => {
  const view = { from: 123, to: 98765 };
  for (const px of [0, 17.5, 640, 1600]) assert.ok(Math.abs(toPixel(view, toTime(view, px, 1600), 1600) - px) < 1e-9);
});

test('ticks: round steps, far enough apart, all inside', () => {
  for (const width of [50, 300, 1340, 4000])
    for (const view of [{ from: 0, to: 1e9 }, { from: 123456, to: 123789 }, { from: -2e7, to: 1.02e9 }, { from: 5e12, to: 5e12 + 100 }]) {
      const { step, first, count: many } = ticks(view, width);
      const lead = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
      assert.ok([1, 2, 5, 10].some((m) => Math.abs(m - lead) < 1e-6), `step ${step}`);
      assert.ok((step / span(view)) * width >= 90 - 1e-6);
      assert.ok(first >= view.from && (many === 0 || first + (many - 1) * step <= view.to + 1e-6));
    }
});

test('signal: watchers hear of changes only, once', () => {
  const value = signal(1);
  let heard = 0;
  const stop = value.watch(() => heard++);
  value.set(1);
  assert.equal(heard, 0);
  value.set(2);
  value.update((n) => n + 1);
  assert.equal(value.value, 3);
  assert.equal(heard, 2);
  stop();
  value.set(9);
  assert.equal(heard, 2);
});

test('signal: a batch is one change, also when it throws, also inside another', () => {
  const a = signal(0);
  const b = signal(0);
  let heard = 0;
  const hear = () => heard++;
  a.watch(hear);
  b.watch(hear);
  batch(() => {
    a.set(1);
    batch(() => b.set(1));
    assert.equal(heard, 0);
  });
  assert.equal(heard, 1);
  assert.throws(() => batch(() => (a.set(2), b.set(2), (() => { throw new Error('no'); })())), /no/);
  assert.equal(heard, 2);
});

test('signal: what a watcher changes is heard, too', () => {
  const a = signal(0);
  const twice = signal(0);
  a.watch(() => twice.set(a.value * 2));
  let heard = 0;
  twice.watch(() => (heard = twice.value));
  a.set(21);
  assert.equal(heard, 42);
});

test('signal: its own idea of what is the same', () => {
  const view = signal({ from: 0, to: 1 }, (x, y) => x.from === y.from && x.to === y.to);
  let heard = 0;
  view.watch(() => heard++);
  view.set({ from: 0, to: 1 });
  assert.equal(heard, 0);
});

test('sort: the unknown comes last in both directions, equals keep their order', () => {
  const rows = [{ k: 2, n: 'a' }, { k: null, n: 'b' }, { k: 1, n: 'c' }, { k: 2, n: 'd' }, { k: NaN, n: 'e' }];
  assert.equal(sorted(rows, (row) => row.k, false).map((row) => row.n).join(''), 'cadbe');
  assert.equal(sorted(rows, (row) => row.k, true).map((row) => row.n).join(''), 'adcbe');
  assert.ok(compare('a', 'b', false) < 0 && compare('a', 'b', true) > 0);
  assert.deepEqual(clicked({ column: 'x', down: true }, 'x', true), { column: 'x', down: false });
  assert.deepEqual(clicked({ column: 'x', down: true }, 'y', false), { column: 'y', down: false });
});
