// SPDX-License-Identifier: Apache-2.0
// Small parts that pages are made of: swatches, chips, bars, switches, what can be copied, and words where there is nothing.
import type { ComponentChildren } from 'preact';
import { pieces } from '../base/advice.ts';
import { capital, categoryClass, categoryName } from '../base/words.ts';

export function Swatch({ of }: { of: string }) {
  return <span class={`sw ${categoryClass(of)}`} aria-hidden="true" />;
}

export function CategoryKey({ category }: { category: string }) {
  return (
    <span class="key">
      <Swatch of={category} />
      <span class="ink">{categoryName(category)}</span>
    </span>
  );
}

export type Severity = 'high' | 'medium' | 'low';

/** Severity by shape: octagon, triangle, circle. */
export function SeverityMark({ severity }: { severity: Severity }) {
  if (severity === 'high')
    return (
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="var(--bad)" />
        <path d="M8 4.2v5M8 11.2v1.1" stroke="var(--bg)" stroke-width="1.8" stroke-linecap="round" />
      </svg>
    );
  if (severity === 'medium')
    return (
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 1.5l7 12.5H1z" fill="none" stroke="var(--warn)" stroke-width="1.5" stroke-linejoin="round" />
        <path d="M8 6v3.7M8 11.6v.4" stroke="var(--warn)" stroke-width="1.6" stroke-linecap="round" />
      </svg>
    );
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6.3" fill="none" stroke="var(--mute)" stroke-width="1.4" />
      <path d="M8 7.3v4M8 4.6v.3" stroke="var(--mute)" stroke-width="1.6" stroke-linecap="round" />
    </svg>
  );
}

export function SeverityChip({ severity }: { severity: Severity }) {
  return <span class={`chip ${severity === 'high' ? 'bad' : severity === 'medium' ? 'warn' : 'mute'}`}>{capital(severity)}</span>;
}

/** A bar of a constant scale beside a number. `width`: of a whole one, in px; 'cell': what its place has. */
export function Share({ part, color, width = 64 }: { part: number; color: string; width?: number | 'cell' }) {
  const size = Math.min(Math.max(part, 0), 1);
  const long = width === 'cell' ? `${size * 100}%` : `${Math.max(size * width, part > 0 ? 1 : 0)}px`;
  return <span class={width === 'cell' ? 'share cell' : 'share'} aria-hidden="true" style={{ width: long, background: color }} />;
}

export interface Segment {
  name: string;
  value: number;
  color: string;
  ink?: string;
  text?: string; // inside of it, where it fits
  hatched?: boolean;
}

/** Parts of a whole side by side; the legend has the numbers. */
export function StackBar({ parts, height = 12, label }: { parts: Segment[]; height?: number; label?: string }) {
  const all = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  return (
    <div class="stackbar" style={{ height: `${height}px` }} role="img" aria-label={label ?? parts.map((part) => `${part.name} ${((part.value / all) * 100).toFixed(0)} %`).join(', ')}>
      {parts.map((part) => (
        <span key={part.name} class={part.hatched ? 'hatched' : ''} style={{ flexGrow: part.value / all, ...(part.hatched ? {} : { background: part.color }), color: part.ink ?? 'inherit' }} title={part.name}>
          {part.text && part.value / all > 0.11 ? part.text : ''}
        </span>
      ))}
    </div>
  );
}

export function Segmented<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void }) {
  // as radio buttons everywhere: Tab reaches the chosen one, arrows choose
  const key = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const next = (options.findIndex(([id]) => id === value) + by + options.length) % options.length;
    onChange(options[next]![0]);
    ((event.currentTarget as HTMLElement).children[next] as HTMLElement).focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="seg" role="radiogroup" aria-label={label} onKeyDown={key}>
      {options.map(([id, name]) => (
        <button key={id} role="radio" aria-checked={id === value} tabIndex={id === value ? 0 : -1} class={id === value ? 'on' : ''} onClick={() => onChange(id)}>
          {name}
        </button>
      ))}
    </span>
  );
}

export function Select<T extends string | number>({ label, value, options, onChange }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void }) {
  return (
    <label class="select">
      <span class="sub">{label}</span>
      <select value={String(value)} onChange={(event) => onChange(options[(event.target as HTMLSelectElement).selectedIndex]![0])}>
        {options.map(([id, name]) => (
          <option key={id} value={String(id)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Code that a click copies. */
export function Copied({ text, say }: { text: string; say: (words: string) => void }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => say(`Copied: ${text}`),
      () => say(text),
    );
  return (
    <button class="copy" title="Click to copy" onClick={(event) => (event.stopPropagation(), void copy())}>
      <code class="opt">{text}</code>
    </button>
  );
}

/** An advice whose options can be copied. */
export function Advice({ text, say }: { text: string; say: (words: string) => void }) {
  return (
    <>
      {pieces(text).map((piece, i) => (piece.code ? <Copied key={i} text={piece.text} say={say} /> : <span key={i}>{piece.text}</span>))}
    </>
  );
}

/** Nothing to show: what was looked for, what there is, and a command to try. */
export function Nothing({ title, children, command, say }: { title: string; children?: ComponentChildren; command?: string; say?: (words: string) => void }) {
  return (
    <div class="nothing">
      <b>{title}</b>
      {children && <p class="sub">{children}</p>}
      {command && say && (
        <p>
          <Copied text={command} say={say} />
        </p>
      )}
    </div>
  );
}

/** What the colours of a thread's states mean. */
export function StateKeys() {
  return (
    <p class="legend state-keys">
      {([['running', 'running'], ['runnable', 'runnable: waited for a CPU'], ['blocked', 'blocked: waited for something else']] as const).map(([id, words]) => (
        <span class="key" key={id}>
          <span class="sw" style={{ background: `var(--st-${id})` }} />
          {words}
        </span>
      ))}
    </p>
  );
}

export function Head({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="head">
      <h2>{title}</h2>
      <span class="faint">{children}</span>
    </div>
  );
}
