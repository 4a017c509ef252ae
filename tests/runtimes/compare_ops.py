# SPDX-License-Identifier: Apache-2.0
"""Whether recorded operators are those of ONNX Runtime's own profile: compare_ops.py ROWS EXPECTED

ROWS has "kind|thread|start|end|self|name|type" for each inference and operator of a trace, EXPECTED "name|type" for
each node of one run, in the order of their ends. Prints "N of M inferences, K operators each, 1 in S" or what is wrong.
"""
import collections
import sys


def main(rows, expected):
    with open(expected, encoding='utf-8') as file:
        wanted = file.read().splitlines()
    runs, ops = [], collections.defaultdict(list)
    with open(rows, encoding='utf-8') as file:
        for line in file.read().splitlines():
            kind, thread, start, end, own, name = line.split('|', 5)
            if not 0 <= int(own) <= int(end) - int(start):
                return f'self time {own} of {line}'
            if kind == 'ml':
                runs.append((thread, int(start), int(end)))
            else:
                ops[thread].append((int(start), int(end), name))
    for items in ops.values():
        items.sort(key=lambda item: (item[1], -item[0]))
    found = []
    at = collections.Counter()
    for thread, start, end in sorted(runs):
        inside = []
        while at[thread] < len(ops[thread]) and ops[thread][at[thread]][1] <= end:
            item = ops[thread][at[thread]]
            if item[0] < start:
                return f'{item} is in no inference'
            inside.append(item[2])
            at[thread] += 1
        if inside and inside != wanted:
            for one, other in zip(inside + [''], wanted + ['']):
                if one != other:
                    return f'an inference has {len(inside)} operators of {len(wanted)}, {one!r} for {other!r}'
        if inside:
            found.append(start)
    if any(at[thread] != len(items) for thread, items in ops.items()):
        return 'operators behind the last inference'
    order = {start: number for number, start in enumerate(sorted(start for _, start, _ in runs))}
    found.sort()
    steps = sorted({order[late] - order[early] for early, late in zip(found, found[1:])})
    return f'{len(found)} of {len(runs)} inferences, {len(wanted)} operators each, 1 in {" or ".join(map(str, steps))}'


if __name__ == '__main__':
    print(main(*sys.argv[1:]))
