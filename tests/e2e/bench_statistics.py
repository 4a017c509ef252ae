#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes every statistic of a bench result from its raw samples, as docs/statistics.md says.

usage: bench_statistics.py RESULT.json

Shares no code with the tool: plain Python, values written out where the tool is clever. Prints each
number that differs by more than 1e-9 (relative) and exits 1; 2 if the document cannot be read.
"""

import bisect
import json
import math
import statistics
import sys

TOLERANCE = 1e-9
MASK = (1 << 64) - 1
RESAMPLES = 2000
TAIL = 0.025
QUANTILES = {'p50': 0.5, 'p90': 0.9, 'p95': 0.95, 'p99': 0.99, 'p999': 0.999}


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, n):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        return ((z ^ (z >> 31)) * n) >> 64


def quantile(ordered, q, rule='linear'):
    n = len(ordered)
    if rule == 'nearest':
        return ordered[min(math.floor(n * q), n - 1)]
    rank = (n - 1) * q
    below = math.floor(rank)
    above = min(below + 1, n - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


# ---- order statistics


def log_binomial(n, k, q):
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            + k * math.log(q) + (n - k) * math.log(1 - q))


def order_interval(ordered, q):
    """(low, high, needs): the largest l with P[B < l] and the smallest u with P[B >= u] <= 2.5 %."""
    n = len(ordered)
    needed = 1
    while max(q, 1 - q) ** needed > TAIL:
        needed += 1
    reach = 12 * math.sqrt(n * q * (1 - q)) + 50  # terms beyond are 0 in any arithmetic
    first = max(0, math.floor(n * q - reach))
    last = min(n, math.ceil(n * q + reach))
    low, total = 0, 0.0
    for k in range(first, last + 1):  # P[B < k + 1] = P[B <= k]
        total += math.exp(log_binomial(n, k, q))
        if total > TAIL:
            low = k
            break
    high, total = n + 1, 0.0
    for k in range(last, first - 1, -1):
        total += math.exp(log_binomial(n, k, q))
        if total > TAIL:
            high = k + 1
            break
    if low < 1 or high > n:
        return None, None, needed
    return ordered[low - 1], ordered[high - 1], 0


def share_bound(hits, n):
    """Clopper and Pearson's upper bound: the share at which so few hits have a chance of 5 %."""
    low, high = hits / n, 1.0
    if hits == n:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        chance = math.fsum(math.exp(log_binomial(n, k, middle)) for k in range(hits + 1)) if middle > 0 else 1.0
        low, high = (middle, high) if chance > 0.05 else (low, middle)
    return high


# ---- bootstrap


def drawn_blocks(blocks):
    """By process, the lists of block numbers that are drawn together."""
    run = -(-len(blocks) // 2000)
    processes = []
    for number, block in enumerate(blocks):
        if not processes or block['process'] != blocks[number - 1]['process']:
            processes.append([])
            within = 0
        if within % run == 0:
            processes[-1].append([])
        processes[-1][-1].append(number)
        within += 1
    return processes


def draw(processes, random):
    for _ in processes:
        process = processes[random.below(len(processes)) if len(processes) > 1 else 0]
        for _ in process:
            yield process[random.below(len(process))]


def enough(processes):
    return len(processes) > 1 or len(processes[0]) >= 5


def student_tail(t, freedom):
    """P[T > t], by Simpson's rule over the angle: the density of T is cos^(n - 1) there."""
    end, steps = math.atan(t / math.sqrt(freedom)), 2000
    width = end / steps
    weights = [1] + [4, 2] * (steps // 2 - 1) + [4, 1]
    area = math.fsum(w * math.cos(i * width) ** (freedom - 1) for i, w in enumerate(weights)) * width / 3
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return 0.5 - scale * area


def expanded_tail(units):
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        if student_tail(middle, units - 1) > TAIL:
            low = middle
        else:
            high = middle
    return math.erfc(high * math.sqrt(units / (units - 1)) / math.sqrt(2)) / 2


def percentile_interval(resampled, processes):
    tail = expanded_tail(len(processes) if len(processes) > 1 else len(processes[0]))
    resampled.sort()
    return quantile(resampled, tail), quantile(resampled, 1 - tail), 0


def median_interval(samples, blocks, seed):
    processes = drawn_blocks(blocks)
    if not enough(processes):
        return None, None, -(-len(samples) // len(blocks)) * 5
    every = -(-len(samples) // 200000)
    values = [[sorted(samples[blocks[joined[0]]['first']:
                              blocks[joined[-1]]['first'] + blocks[joined[-1]]['count']:every])
               for joined in process] for process in processes]
    random = Random(seed)
    resampled = []
    for _ in range(RESAMPLES):
        drawn = []
        for block in draw(values, random):
            drawn += block
        drawn.sort()
        resampled.append(statistics.median(drawn))
    return percentile_interval(resampled, processes)


def throughput_interval(walls, blocks, per_query, seed):
    processes = drawn_blocks(blocks)
    if not enough(processes):
        return None, None, 5
    random = Random(seed)
    resampled = []
    for _ in range(RESAMPLES):
        wall = count = 0
        for joined in draw(processes, random):
            wall += sum(walls[number] for number in joined)
            count += per_query * sum(blocks[number]['count'] for number in joined)
        resampled.append(wall / count)
    low, high, _ = percentile_interval(resampled, processes)
    return 1000 / high, 1000 / low, 0


# ---- order in time


def autocorrelation(values):
    if len(values) < 3:
        return 0.0
    mean = math.fsum(values) / len(values)
    own = math.fsum((v - mean) ** 2 for v in values)
    following = math.fsum((a - mean) * (b - mean) for a, b in zip(values, values[1:]))
    return following / own if own > 0 else 0.0


def effective(count, r):
    if r <= -1:
        return float(count)
    return min(float(count), max(1.0, count * (1 - r) / (1 + r)))


def running_costs(values):
    """Sums of distances from the median, of the first 1, 2, ... values."""
    ordered, costs = [], []
    for value in values:
        bisect.insort(ordered, value)
        half = len(ordered) // 2
        costs.append(math.fsum(ordered[-half:]) - math.fsum(ordered[:half]) if half else 0.0)
    return costs


def best_split(values, noise, whole):
    n = len(values)
    if n < 10:
        return None
    left, right = running_costs(values), running_costs(values[::-1])
    gain, at = max(((left[-1] - left[i - 1] - right[n - i - 1], -i) for i in range(5, n - 4)))
    at = -at
    if gain <= 0:
        return None
    medians = statistics.median(values[:at]), statistics.median(values[at:])
    r = autocorrelation([v - medians[i >= at] for i, v in enumerate(values)])
    r = min(max(r, 0.0), 0.6)
    scaled = 4 * gain / (noise * math.sqrt(2 * math.pi))
    if scaled <= 3 * math.log(whole) * (1 + r) / (1 - r):
        return None
    return scaled, at


def group_medians(values, groups):
    n = len(values)
    return [statistics.median(values[n * i // groups:n * (i + 1) // groups]) for i in range(groups)]


def change_points(values, most=8):
    count = len(values)
    if count < 10:
        return []
    if count > 2000:
        values = group_medians(values, 2000)
    n = len(values)
    noise = 0.0
    for lag in range(1, 6):
        if 4 * lag <= n:
            differences = [b - a for a, b in zip(values, values[lag:])]
            middle = statistics.median(differences)
            spread = statistics.median(abs(d - middle) for d in differences)
            noise = max(noise, 1.4826 * spread / math.sqrt(2))
    noise = max(noise, 0.001 * abs(statistics.median(values)))
    if noise <= 0:
        return []
    segments = [(0, n)]
    while len(segments) <= most:
        found = []
        for place, (first, last) in enumerate(segments):
            split = best_split(values[first:last], noise, n)
            if split:
                found.append((split[0], -place, first + split[1]))
        if not found:
            break
        _, place, at = max(found)
        first, last = segments[-place]
        segments[-place:-place + 1] = [(first, at), (at, last)]
    points = [first for first, _ in segments[1:]]
    return [count * p // 2000 for p in points] if count > 2000 else points


# ---- a row


def median_of_processes(row, key):
    values = [p[key] for p in row['processes'] if p[key] is not None]
    return statistics.median(values) if values else None


def memory_of(row):
    memory = {}
    for key in ('before_bytes', 'after_load_bytes', 'after_runs_bytes', 'peak_bytes'):
        value = median_of_processes(row, key)
        memory[key] = None if value is None else math.floor(value)
    before, peak = memory['before_bytes'], memory['peak_bytes']
    memory['delta_bytes'] = peak - before if before and peak else None
    return memory


def basic_numbers(samples, rule):
    ordered = sorted(samples)
    n = len(samples)
    mean = math.fsum(samples) / n
    median = statistics.median(samples)
    mad = statistics.median(abs(x - median) for x in samples)
    expected = {
        'count': n,
        'mean_ms': mean,
        'std_ms': math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / (n - 1)) if n > 1 else 0.0,
        'min_ms': ordered[0],
        'max_ms': ordered[-1],
        'mad_ms': mad,
    }
    for name, q in QUANTILES.items():
        expected[name + '_ms'] = quantile(ordered, q, rule)
    is_outlier = [mad > 0 and abs(x - median) > 14.826 * mad for x in samples]
    expected['outliers'] = sum(is_outlier)
    return expected, is_outlier


def interval(numbers):
    return dict(zip(('low', 'high', 'needs'), numbers))


def open_loop_numbers(row, samples, rule):
    loop = row['open_loop']
    service = loop['service_ms']
    if len(service) != len(samples):
        return {'service_ms': f'{len(samples)} values'}
    lateness = sorted(max(s - t, 0.0) for s, t in zip(samples, service))
    ordered = sorted(service)
    expected = {
        'late': sum(late > 0.1 for late in lateness),
        'lateness_p99_ms': quantile(lateness, 0.99),
        'service_mean_ms': math.fsum(service) / len(service),
        # That the queue grew to the end cannot be seen here; without the first half it is not overloaded.
        'overloaded': loop['overloaded'] and loop['achieved_hz'] < 0.98 * loop['asked_hz'],
    }
    for name, q in QUANTILES.items():
        expected[f'service_{name}_ms'] = quantile(ordered, q, rule)
    if loop['found_hz']:  # asked for, and there is one: what confirms it must do so
        bound = share_bound(loop['confirmed_too_slow'], loop['confirmed_queries'])
        expected['confirmed_bound'] = bound if bound <= 0.01 and loop['confirmed_s'] >= 10 else 'a rate confirmed in 10 s'
        expected['asked_hz'] = loop['found_hz']
    return expected


def recompute(row, document):
    """Everything that follows from the samples, blocks and processes of a row."""
    samples, blocks = row['raw_samples_ms'], row['blocks']
    rule, seed = document['percentile_rule'], document['options']['seed']
    expected = {'memory': memory_of(row), 'steady': bool(row['processes']) and
                all(p['steady'] for p in row['processes'])}
    for key in ('first_ms', 'warmup_mean_ms', 'start_ms', 'load_ms', 'specialization_ms'):
        expected[key] = median_of_processes(row, key)
    if not samples:
        expected['count'] = 0
        return expected
    numbers, is_outlier = basic_numbers(samples, rule)
    expected.update(numbers)
    inside = [samples[b['first']:b['first'] + b['count']] for b in blocks]
    if [x for block in inside for x in block] != samples:
        return {'blocks': 'blocks that cover raw_samples_ms'}
    walls = [b['wall_ms'] or math.fsum(inside[i]) for i, b in enumerate(blocks)]
    medians = [statistics.median(block) for block in inside]
    mean = math.fsum(medians) / len(medians)
    r = autocorrelation(medians)
    expected.update({
        'outliers_disturbed': sum(is_outlier[i] for b in blocks if b['disturbed']
                                  for i in range(b['first'], b['first'] + b['count'])),
        'throughput_fps': 1000 * len(samples) * row['per_query'] / math.fsum(walls),
        'goodput': (sum(x <= row['slo_ms'] for x in samples) / len(samples)
                    if row['slo_ms'] else None),
        'block_cv': statistics.stdev(medians) / mean if len(medians) > 1 and mean > 0 else 0.0,
        'block_autocorrelation': r,
        'effective_blocks': effective(len(medians), r),
        'change_points': change_points(medians),
    })
    expected['samples_per_s'] = expected['throughput_fps'] * document['options']['batch']
    ordered = sorted(samples)
    expected['intervals'] = {
        'confidence': 0.95,
        'p50': interval(median_interval(samples, blocks, seed)),
        'throughput_fps': interval(throughput_interval(walls, blocks, row['per_query'], seed)),
    }
    for name in ('p90', 'p95', 'p99', 'p999'):
        expected['intervals'][name] = interval(order_interval(ordered, QUANTILES[name]))
    if row['open_loop']:
        expected['open_loop'] = open_loop_numbers(row, samples, rule)
    return expected


# ---- comparing


def agree(got, expected, scale):
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return got is expected
    if isinstance(expected, str) or isinstance(got, str):
        return False
    # A difference of two times cannot be better than the times were.
    return abs(got - expected) <= max(TOLERANCE * abs(expected), 1e-13 * scale)


def compare(path, got, expected, scale):
    """(numbers compared, lines about those that differ)"""
    if isinstance(expected, dict):
        count, lines = 0, []
        for key, value in expected.items():
            below = f'{path}.{key}' if path else key
            if not isinstance(got, dict) or key not in got:
                lines.append(f'{below}: not in the document')
                continue
            more, found = compare(below, got[key], value, scale)
            count += more
            lines += found
        return count, lines
    same = (got == expected if isinstance(expected, list)
            else agree(got, expected, scale))
    return 1, [] if same else [f'{path}: the document has {got!r}, recomputed {expected!r}']


def check(document):
    rows = [('', document)]
    rows += [(f'rows[{i}]', row) for i, row in enumerate(document.get('rows', []))]
    count, lines = 0, []
    for path, row in rows:
        scale = max(row['raw_samples_ms'], default=0.0)
        more, found = compare(path, row, recompute(row, document), scale)
        count += more
        lines += found
    measured = [row for _, row in rows[1:] if row['available'] and row['raw_samples_ms']]
    if measured and any(document[key] != value for key, value in measured[0].items()):
        lines.append('the keys at the top are not those of the first row that was measured')
    return count, lines


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding='utf-8') as file:
            document = json.load(file)
        count, lines = check(document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f'{sys.argv[1]} cannot be checked: {type(error).__name__}: {error}', file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    print(f'{count} numbers compared, {len(lines)} differ')
    return 1 if lines else 0


if __name__ == '__main__':
    sys.exit(main())
