// SPDX-License-Identifier: Apache-2.0
// What pages of samples say when there are none.
import type { State } from '../data/state.ts';
import { Nothing } from './parts.tsx';

export function NoSamples({ state }: { state: State }) {
  const told = state.meta.instruments.find((one) => one.name === 'samples');
  return (
    <Nothing title="No samples were taken." command="inferogram record --sample -- CMD" say={(words) => state.say(words)}>
      {told && told.state !== 'on' ? told.reason : 'Sampling was off, or the program was too short.'}
    </Nothing>
  );
}
