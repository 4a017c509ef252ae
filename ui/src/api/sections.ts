// SPDX-License-Identifier: Apache-2.0
// Data that is in the page itself: sections of base64 around raw deflate, by name. Written by src/export/html.c.

interface Base64 {
  fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as unknown as Base64).fromBase64;
  if (quick) return quick(text);
  const letters = atob(text);
  const out = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) out[i] = letters.charCodeAt(i);
  return out;
}

/** Takes them out of the document, which then need not be kept twice. */
export function takeSections(page: Document): Map<string, string> {
  const found = new Map<string, string>();
  for (const element of page.querySelectorAll('script[type="text/plain"][id^="ifg-"]')) {
    found.set(element.id.slice(4), element.textContent ?? '');
    element.remove();
  }
  return found;
}

export async function unpack(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([fromBase64(text)]);
  const stream = packed.stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function unpackJson<T>(text: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await unpack(text))) as T;
}
