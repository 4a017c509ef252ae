// SPDX-License-Identifier: Apache-2.0
// An advice in words, cut into text and what can be copied: options, commands, names of functions.

export interface Piece {
  text: string;
  code: boolean;
}

// In this order: commands in quotes, 'python -m ...', NAME=VALUE, --options, names with _ or ., CamelCase with at least two humps.
const CODE = /'([a-z][^']*)'|(python3? -m [\w.]+)|([A-Za-z_][\w.]*=[\w./:-]*\w)|((?<![\w-])--[a-z][\w-]*)|(\b[A-Za-z]\w*(?:[._]\w+)+_?\b)|(\b[A-Z][a-z]+(?:[A-Z][a-z0-9]*){1,}\b)/g;
const NAMES = new Set(['TensorRT', 'OpenVINO', 'VitisAI', 'CoreML', 'DirectML', 'WebGPU', 'OpenMP', 'JavaScript', 'MIGraphX']);

export function pieces(advice: string): Piece[] {
  const out: Piece[] = [];
  const add = (text: string, code: boolean) => {
    const last = out[out.length - 1];
    if (!text) return;
    if (last && !last.code && !code) last.text += text;
    else out.push({ text, code });
  };
  let at = 0;
  for (const match of advice.matchAll(CODE)) {
    const text = match.slice(1).find((group) => group !== undefined) ?? match[0];
    add(advice.slice(at, match.index), false);
    add(text, !NAMES.has(text));
    at = match.index + match[0].length;
  }
  add(advice.slice(at), false);
  return out;
}
