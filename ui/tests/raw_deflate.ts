// SPDX-License-Identifier: Apache-2.0
// Node.js 18, which Debian 12 has, knows streams for gzip and deflate only; browsers have 'deflate-raw' too.
import { Duplex } from 'node:stream';
import { createDeflateRaw, createInflateRaw } from 'node:zlib';

function isMissing(): boolean {
  try {
    return !new CompressionStream('deflate-raw');
  } catch {
    return true;
  }
}

if (isMissing()) {
  Object.assign(globalThis, {
    CompressionStream: function () {
      return Duplex.toWeb(createDeflateRaw());
    },
    DecompressionStream: function () {
      return Duplex.toWeb(createInflateRaw());
    },
  });
}
