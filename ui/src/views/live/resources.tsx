// SPDX-License-Identifier: Apache-2.0
// What the machine does meanwhile: CPU, memory, GPU over the same 90 s.
import { bytes, quantity } from '../../base/format.ts';
import type { Live } from '../../data/live.ts';
import { resourcesOf, type Resource } from '../../data/live_pick.ts';
import { drawSpark } from '../../draw/sums.ts';
import { Chart } from '../../widgets/canvas.tsx';

function words(live: Live, { kind, unit, last, scale }: Resource): string {
  if (Number.isNaN(last)) return '–';
  if (kind === 'cpu' && live.info) return `${((last / 100) * live.info.cpus).toFixed(1)} of ${live.info.cpus} cores`;
  if (unit === 'bytes' && scale) return `${bytes(last)} of ${bytes(scale)}`;
  return quantity(last, unit);
}

export function Resources({ live }: { live: Live }) {
  const resources = resourcesOf(live);
  if (!resources.length) return null;
  const end = live.state === 'ended' ? 'end' : 'now';
  return (
    <footer class="live-resources" aria-label="Resources" style={{ gridTemplateColumns: `repeat(${resources.length}, 1fr)` }}>
      {resources.map((one) => (
        <div key={one.kind}>
          <p>
            <span class="dim">{one.label}</span>
            <b>{words(live, one)}</b>
          </p>
          <Chart height={62} label={`${one.label} over 90 s, now ${words(live, one)}`} keys={[live, live.now]} draw={(context, width, height, palette) => drawSpark(context, one.values, one.scale, ['−90\u2009s', end], width, height, palette)} />
        </div>
      ))}
    </footer>
  );
}
