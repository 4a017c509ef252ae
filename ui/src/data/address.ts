// SPDX-License-Identifier: Apache-2.0
// The address holds the view: page, times, selection, range, filter, theme. The token is kept apart and is never in a copied link.
import { PAGES, SETTINGS, type Page, type Settings, type State, type Theme } from './state.ts';

export interface Address {
  token: string;
  trace: number;
  page: Page | null;
  from: number | null;
  to: number | null;
  slice: number | null;
  range: [number, number] | null;
  model: number | null;
  functionId: number | null;
  search: string;
  flows: boolean;
  theme: Theme | null;
  settings: Settings;
}

const number = (text: string | null): number | null => {
  const value = text === null || text === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
};

export function readAddress(fragment: string): Address {
  const parts = new URLSearchParams(fragment.replace(/^#/, ''));
  const page = parts.get('page');
  const range = (parts.get('range') ?? '').split('-').map(Number);
  const theme = parts.get('theme');
  return {
    token: parts.get('token') ?? '',
    trace: number(parts.get('trace')) ?? 0,
    page: PAGES.includes(page as Page) ? (page as Page) : null,
    from: number(parts.get('t0')),
    to: number(parts.get('t1')),
    slice: number(parts.get('slice')),
    range: range.length === 2 && range.every(Number.isFinite) && range[0]! < range[1]! ? [range[0]!, range[1]!] : null,
    model: number(parts.get('model')),
    functionId: number(parts.get('function')),
    search: parts.get('q') ?? '',
    flows: parts.get('flows') === '1',
    theme: theme === 'light' || theme === 'dark' ? theme : null,
    settings: Object.fromEntries(SETTINGS.flatMap((name) => (parts.get(name) ? [[name, parts.get(name)!]] : []))),
  };
}

/** The fragment for what is shown, without a token. */
export function writeAddress(state: State): string {
  const parts = new URLSearchParams();
  const { from, to } = state.view.value;
  parts.set('trace', String(state.traceId));
  parts.set('page', state.page.value);
  if (from > 0 || to < state.length) {
    parts.set('t0', String(Math.round(from)));
    parts.set('t1', String(Math.round(to)));
  }
  if (state.selection.value) parts.set('slice', String(state.selection.value.slice));
  if (state.range.value) parts.set('range', `${Math.round(Math.max(0, state.range.value.from))}-${Math.round(state.range.value.to)}`);
  if (state.model.value !== null) parts.set('model', String(state.model.value));
  if (state.functionId.value !== null) parts.set('function', String(state.functionId.value));
  if (state.search.value) parts.set('q', state.search.value);
  for (const name of SETTINGS) if (state.settings.value[name]) parts.set(name, state.settings.value[name]!);
  if (state.flows.value) parts.set('flows', '1');
  parts.set('theme', state.theme.value);
  return parts.toString();
}

/** `whole`: what the address does not tell is as usual, as when going back; else it stays as it is. */
export function applyAddress(state: State, address: Address, whole = false): void {
  if (whole) {
    state.page.set(state.source.online ? 'summary' : 'report');
    state.fit();
    state.selection.set(null);
    state.range.set(null);
    state.functionId.set(null);
    state.search.set('');
  }
  if (address.page) state.page.set(address.page);
  if (address.from !== null && address.to !== null && address.to > address.from) state.show({ from: address.from, to: address.to });
  if (address.slice !== null) state.selection.set({ slice: address.slice });
  if (address.range) state.range.set({ from: address.range[0], to: address.range[1] });
  state.model.set(address.model);
  state.settings.set(address.settings);
  if (address.functionId !== null) state.functionId.set(address.functionId);
  if (address.search) state.search.set(address.search);
  state.flows.set(address.flows);
  if (address.theme) state.theme.set(address.theme);
}
