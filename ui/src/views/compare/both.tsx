// SPDX-License-Identifier: Apache-2.0
// How long inferences took, of both traces in one picture: cumulative distributions.
import type { Server } from '../../api/client.ts';
import { count, duration } from '../../base/format.ts';
import { unbroken } from '../../base/words.ts';
import { drawTwoEcdfs } from '../../draw/measured.ts';
import { Chart, TwinTable } from '../../widgets/canvas.tsx';
import { useAsk } from '../../widgets/hooks.ts';
import { Head } from '../../widgets/parts.tsx';

const THINNED = 3900; // of more only the extremes are sent, which is no distribution

async function runsOf(server: Server, trace: number, model: string): Promise<number[]> {
  const source = server.trace(trace);
  const id = (await source.meta()).models.find((one) => one.name === model)?.id;
  if (id === undefined) return [];
  const points = await source.runs(id);
  return points.count < THINNED ? [...points.duration].sort((x, y) => x - y) : [];
}

export function Both({ server, a, b, model }: { server: Server; a: number; b: number; model: string }) {
  const { value } = useAsk(() => Promise.all([runsOf(server, a, model), runsOf(server, b, model)]), [a, b, model]);
  const [first, second] = value ?? [[], []];
  if (first.length < 2 || second.length < 2) return null;
  const at = (sorted: number[], share: number): string => duration(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!);
  return (
    <section class="compare-both">
      <Head title="Inference time, A and B">
        {model} · {count(first.length)} and {count(second.length)}
      </Head>
      <Chart height={230} label={`Cumulative distribution of inference times of ${model}, in A and B`} keys={[value]} draw={(context, width, height, palette) => drawTwoEcdfs(context, first, second, width, height, palette)}>
        <TwinTable title="Inference time" head={['of', 'A', 'B']} rows={[0.5, 0.9, 0.99].map((share) => [`p${share * 100}`, at(first, share), at(second, share)])} />
      </Chart>
      <p class="foot">
        {unbroken(`Cumulative distribution; A is dashed. It includes inferences with operators on, so its medians differ from those above. p99 is shown, never judged: ${at(first, 0.99)} → ${at(second, 0.99)}.`)}
      </p>
    </section>
  );
}
