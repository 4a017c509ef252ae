// SPDX-License-Identifier: Apache-2.0
// Flows in the details of a slice: where it comes from and where it leads, as links.
import type { Arrow, SliceDetails } from '../../api/types.ts';
import { duration } from '../../base/format.ts';
import { arrowsAt, type FlowArrows } from '../../data/flows.ts';
import type { State } from '../../data/state.ts';
import { useSignal } from '../../widgets/hooks.ts';
import { goAlong } from './keys.ts';

const SHOWN = 6;

function Line({ arrow, direction, state }: { arrow: Arrow; direction: 1 | -1; state: State }) {
  const end = direction > 0 ? arrow.to : arrow.from;
  const track = state.meta.tracks.find((one) => one.id === end.thread);
  const what = arrow.kind === 'wake' ? (direction > 0 ? 'wakes' : 'woken by') : direction > 0 ? 'to' : 'from';
  const name = arrow.kind === 'wake' ? track?.label ?? (arrow.name || `tid ${arrow.id}`) : arrow.name || arrow.kind;
  return (
    <li>
      <span class="flow-key" style={{ background: `var(--flow${arrow.kind === 'flow' ? '' : `-${arrow.kind}`})` }} /> {what}{' '}
      <button class="link" onClick={() => void goAlong(state, arrow, direction)}>
        {name}
      </button>
      <span class="sub">
        {arrow.kind !== 'wake' && track ? ` (${track.label})` : ''} {duration(Math.abs(arrow.to.ns - arrow.from.ns))} {direction > 0 ? 'after' : 'before'}
      </span>
    </li>
  );
}

export function FlowList({ slice, state, arrows }: { slice: SliceDetails; state: State; arrows: FlowArrows }) {
  const chosen = useSignal(arrows.chosen);
  const before = arrowsAt(chosen, slice.id, -1);
  const after = arrowsAt(chosen, slice.id, 1);
  if (!before.length && !after.length) return null;
  const rest = Math.max(0, before.length - SHOWN) + Math.max(0, after.length - SHOWN);
  return (
    <>
      <dt>Flows</dt>
      <dd>
        <ul class="plain-list flow-list">
          {before.slice(0, SHOWN).map((arrow) => (
            <Line key={`b${arrow.kind}${arrow.id}${arrow.from.ns}`} arrow={arrow} direction={-1} state={state} />
          ))}
          {after.slice(0, SHOWN).map((arrow) => (
            <Line key={`a${arrow.kind}${arrow.id}${arrow.to.ns}`} arrow={arrow} direction={1} state={state} />
          ))}
          {rest > 0 && <li class="sub">and {rest} more</li>}
        </ul>
      </dd>
    </>
  );
}
