// SPDX-License-Identifier: Apache-2.0
// What the tests use of node, so that they are checked without its package of types.
declare module 'node:test' {
  export function test(name: string, body: () => void | Promise<void>): Promise<void>;
}
declare module 'node:assert/strict' {
  export function equal(got: unknown, wanted: unknown, message?: string): void;
  export function deepEqual(got: unknown, wanted: unknown, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
  export function throws(body: () => unknown, pattern?: RegExp): void;
}
declare module 'node:stream' {
  export const Duplex: { toWeb(stream: unknown): object };
}
declare module 'node:zlib' {
  export function createDeflateRaw(): unknown;
  export function createInflateRaw(): unknown;
}
