// SPDX-License-Identifier: Apache-2.0
// Columns of LEB128 numbers, as the file of a mailed report has them. Doubles: exact up to 2^53, which is 104 days in ns.

export class Varints {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  next(): number {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    for (;;) {
      if (this.at >= bytes.length) throw new Error('the file is truncated');
      const byte = bytes[this.at++]!;
      if (byte < 128) return value + byte * scale;
      value += (byte - 128) * scale;
      scale *= 128;
    }
  }

  /** Zigzag-folded: 0, -1, 1, -2, ... */
  signed(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
