// SPDX-License-Identifier: Apache-2.0
import type { State } from '../../data/state.ts';

export function Flame({ state }: { state: State }) {
  return <main class="page-empty">{state.meta.title}</main>;
}
