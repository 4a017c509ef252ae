// SPDX-License-Identifier: Apache-2.0
// Binary answers: a header of 32 bytes, then columns, each padded to 8 bytes. Read as typed arrays, without copying.
import type { Points, Slices, Values } from './types.ts';

const SLICES = 0x4c474649;
const VALUES = 0x43474649;
const POINTS = 0x50474649;
const HEAD = 32;

class Columns {
  private at = HEAD;
  readonly count: number;
  readonly extra: number;
  readonly from: number;
  readonly to: number;

  constructor(private readonly buffer: ArrayBuffer, magic: number) {
    const head = new DataView(buffer);
    if (buffer.byteLength < HEAD || head.getUint32(0, true) !== magic) throw new Error('unexpected answer from the server');
    if (head.getUint32(4, true) !== 1) throw new Error('the server is newer than this page: reload the page');
    this.count = head.getUint32(8, true);
    this.extra = head.getUint32(12, true);
    this.from = head.getFloat64(16, true);
    this.to = head.getFloat64(24, true);
  }

  private take(size: number): number {
    const here = this.at;
    this.at += Math.ceil((size * this.count) / 8) * 8;
    if (this.at > this.buffer.byteLength) throw new Error('truncated answer from the server');
    return here;
  }

  f64 = (): Float64Array => new Float64Array(this.buffer, this.take(8), this.count);
  f32 = (): Float32Array => new Float32Array(this.buffer, this.take(4), this.count);
  u32 = (): Uint32Array => new Uint32Array(this.buffer, this.take(4), this.count);
  u16 = (): Uint16Array => new Uint16Array(this.buffer, this.take(2), this.count);
  u8 = (): Uint8Array => new Uint8Array(this.buffer, this.take(1), this.count);
}

export function readSlices(buffer: ArrayBuffer): Slices {
  const columns = new Columns(buffer, SLICES);
  const { from, to, count, extra } = columns;
  return { from, to, rows: extra, count, start: columns.f64(), duration: columns.f32(), location: columns.u32(), merged: columns.u32(), id: columns.u32(), row: columns.u16(), flags: columns.u8() };
}

export function readValues(buffer: ArrayBuffer): Values {
  const columns = new Columns(buffer, VALUES);
  const { from, to, count } = columns;
  return { from, to, count, time: columns.f64(), min: columns.f32(), max: columns.f32(), last: columns.f32() };
}

export function readPoints(buffer: ArrayBuffer): Points {
  const columns = new Columns(buffer, POINTS);
  return { length: columns.to, count: columns.count, start: columns.f64(), duration: columns.f32(), id: columns.u32() };
}
