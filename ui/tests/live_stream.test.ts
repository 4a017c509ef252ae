// SPDX-License-Identifier: Apache-2.0
// The reader of the live stream: lines that come in pieces, a server that goes away, a page that nobody sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../src/api/client.ts';
import { Lines, LiveStream, type Link, type LiveMessage } from '../src/api/live.ts';
import { settle } from './fakes.ts';

test('lines are put together, also from the middle of a message', () => {
  const lines = new Lines();
  assert.deepEqual(lines.push('{"a":1}\n{"b"'), ['{"a":1}']);
  assert.deepEqual(lines.push(':2'), []);
  assert.deepEqual(lines.push('}\n\n{}\n'), ['{"b":2}', '{}']);
});

/** A server whose answers the test writes. */
class FakeServer {
  asked = 0;
  aborted = 0;
  trouble: Error | null = null;
  private writer: ReadableStreamDefaultController<Uint8Array> | null = null;

  get = async (path: string, stop?: AbortSignal): Promise<Response> => {
    assert.equal(path, '/api/live/stream');
    this.asked++;
    if (this.trouble) throw this.trouble;
    const body = new ReadableStream<Uint8Array>({ start: (writer) => void (this.writer = writer) });
    stop?.addEventListener('abort', () => {
      this.aborted++;
      try {
        this.writer?.error(new Error('aborted'));
      } catch {
        // it had ended
      }
    });
    return new Response(body);
  };
  write = (bytes: Uint8Array | string) => this.writer!.enqueue(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes);
  end = () => this.writer!.close();
}

function begin(): { server: FakeServer; stream: LiveStream; got: LiveMessage[]; links: Link[] } {
  const server = new FakeServer();
  const got: LiveMessage[] = [];
  const links: Link[] = [];
  const stream = new LiveStream(server, (message) => got.push(message), (link) => links.at(-1) !== link && links.push(link));
  stream.connect();
  return { server, stream, got, links };
}

test('messages arrive, letters of several bytes in two pieces too; the end is the end', async () => {
  const { server, stream, got, links } = begin();
  await settle();
  const bytes = new TextEncoder().encode('{"seq":0,"state":"live","why":"größer"}\n');
  server.write(bytes.slice(0, 31));
  await settle();
  server.write(bytes.slice(31));
  await settle();
  assert.equal(got[0]!.why, 'größer');
  assert.deepEqual(links, ['connecting', 'open']);
  server.write('{"seq":1,"state":"ended","why":""}\n');
  server.end();
  await settle();
  assert.deepEqual(links, ['connecting', 'open', 'ended']);
  stream.connect();
  stream.disconnect();
  assert.equal(server.asked, 1);
  assert.equal(links.at(-1), 'ended');
});

test('a server that goes away is asked again; one stream at a time', async () => {
  const real = globalThis.setTimeout;
  const waiting: { then: () => void; ms: number }[] = [];
  globalThis.setTimeout = ((then: () => void, ms: number) => waiting.push({ then, ms })) as unknown as typeof setTimeout;
  const turn = async () => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
  };
  const { server, stream, links } = begin();
  stream.connect();
  await turn();
  assert.equal(server.asked, 1);
  server.end();
  await turn();
  assert.equal(links.at(-1), 'gone');
  server.trouble = new ApiError(0, 'the server does not answer');
  assert.deepEqual(waiting.map((one) => one.ms), [2000]);
  assert.equal(server.asked, 1);
  waiting.shift()!.then();
  await turn();
  assert.equal(server.asked, 2);
  assert.equal(links.at(-1), 'gone');
  server.trouble = null;
  waiting.shift()!.then();
  await turn();
  globalThis.setTimeout = real;
  assert.equal(server.asked, 3);
  server.write('{"state":"live","full":true}\n');
  await turn();
  assert.equal(links.at(-1), 'open');
});

test('a page that nobody sees closes its stream, and opens it again', async () => {
  const { server, stream, links } = begin();
  await settle();
  server.write('{"state":"live"}\n');
  await settle();
  stream.disconnect();
  await settle();
  assert.equal(server.aborted, 1);
  assert.equal(links.at(-1), 'hidden');
  assert.equal(server.asked, 1);
  stream.connect();
  await settle();
  assert.equal(server.asked, 2);
});

test('a wrong token is not tried again', async () => {
  const server = new FakeServer();
  const links: Link[] = [];
  server.trouble = new ApiError(401, 'no');
  new LiveStream(server, () => assert.ok(false, 'no message'), (link) => links.push(link)).connect();
  await settle();
  assert.deepEqual(links, ['connecting', 'refused']);
});
