// SPDX-License-Identifier: Apache-2.0
import type { Server } from "../../api/client.ts";
import type { Traces } from "../../api/types.ts";
import type { State } from "../../data/state.ts";

export function Compare({ state }: { state: State; traces: Traces | null; server: Server | null }) {
  return <main class="page-empty">{state.meta.title}</main>;
}
