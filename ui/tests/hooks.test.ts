// SPDX-License-Identifier: Apache-2.0
// A component shows what a signal holds, whenever it changes. Effects run after the next frame: a change before it counts, too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { h, render } from 'preact';
import { signal } from '../src/base/signal.ts';
import { useSignal } from '../src/widgets/hooks.ts';

// What draws nothing needs no more of a document.
(globalThis as { document?: unknown }).document = {};
const nowhere = () => ({ childNodes: [], nodeType: 1 }) as unknown as Element;

async function comes(isThere: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !isThere(); i++) await new Promise((resume) => setTimeout(resume, 10));
}

test('a signal that changes between drawing and its effects is drawn again', async () => {
  const answer = signal('none');
  const drawn: string[] = [];
  render(h(() => (drawn.push(useSignal(answer)), null), {}), nowhere());
  assert.deepEqual(drawn, ['none']);
  answer.set('first');
  await comes(() => drawn.at(-1) === 'first');
  assert.deepEqual(drawn, ['none', 'first']);
  answer.set('second');
  await comes(() => drawn.at(-1) === 'second');
  assert.deepEqual(drawn, ['none', 'first', 'second']);
});

test('a signal that does not change is drawn once', async () => {
  let drawn = 0;
  const told = signal(0);
  render(h(() => (useSignal(told), drawn++, null), {}), nowhere());
  told.set(1);
  await comes(() => drawn > 1);
  told.set(1);
  await new Promise((resume) => setTimeout(resume, 150)); // longer than preact waits for a frame
  assert.equal(drawn, 2);
});
