// SPDX-License-Identifier: Apache-2.0
// Names for people.

const CATEGORY_NAMES: Record<string, string> = { 'prepare-ep': 'Prepare', specialization: 'Specialization', load: 'Load', setup: 'Setup', inference: 'Inference' };

export const categoryName = (category: string): string => CATEGORY_NAMES[category] ?? category;
/** The class of its swatch. */
export const categoryClass = (category: string): string => (category === 'prepare-ep' ? 'prepare' : category);

/** "CUDAExecutionProvider" is CUDA to people. */
export const providerName = (provider: string): string => provider.replace(/ExecutionProvider$/, '') || provider;

export type Device = 'cpu' | 'gpu' | 'npu';

const GPU = /^(CUDA|Tensorrt|NvTensorRTRTX|NvTensorRtRtx|ROCM|MIGraphX|Dml|DML|WebGpu|WebGPU|JS|CoreML|OpenCL|GPU)/;
const NPU = /^(QNN|VitisAI|RKNPU|CANN|VSINPU|SNPE|NPU|Ethos)/;

/** What kind of device a provider computes on, for its colour. */
export function deviceOf(provider: string): Device {
  const name = providerName(provider);
  return GPU.test(name) ? 'gpu' : NPU.test(name) ? 'npu' : 'cpu';
}

/** Beside a table of operators that a provider hands to a device: the words of the report. */
export const HOST_TIME = 'host time; the device is not recorded';

export const plural = (n: number, one: string, many = `${one}s`): string => (n === 1 ? one : many);

/** As a sentence begins. A name stays as it is: what is no plain word, `name`, or a process before its pid. */
export function capital(text: string, name = ''): string {
  if (!/^[a-z][a-z'-]*(?![\w.])/.test(text) || (name && text.startsWith(name)) || /^[^(]{1,15} \(pid \d/.test(text)) return text;
  return text[0]!.toUpperCase() + text.slice(1);
}

/** The same text, in which no line ends between a number and its unit. */
export const unbroken = (text: string): string => text.replace(/(\d)[ \u2009](?=(?:[nuµm]?s|min|h|%|[kMGT]?B|[kM]?Hz|CPUs?|cores?)(?!\w))/g, '$1\u202f');

/** The innermost part of a C++ name, without templates' and functions' arguments: what fits into a table. */
export function shortName(name: string): string {
  // V8: "JS:*prepare /srv/app/read.js:21:17", the sign says how well it was compiled
  const script = /^JS:[*~^+]?(\S*) (?:\S*\/)?([^\s/]+?:\d+)(?::\d+)?$/.exec(name);
  if (script) return `${script[1] || '(anonymous)'} ${script[2]}`;
  let depth = 0;
  let out = '';
  const text = name.replace(/\(anonymous namespace\)/g, '(anonymous)');
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '<' && !/operator<?$/.test(out)) depth++;
    else if (c === '>' && depth > 0) depth--;
    else if (depth === 0 && c === '(' && !text.startsWith('(anonymous)', i) && !text.startsWith('(virtual', i)) {
      break;
    } else if (depth === 0) out += c;
  }
  out = out.trim();
  const blank = out.lastIndexOf(' ');
  if (out.includes('::') && blank > 0 && blank < out.lastIndexOf('::') && !out.includes('operator ')) out = out.slice(blank + 1);
  return out || name;
}
