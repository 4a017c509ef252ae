# SPDX-License-Identifier: Apache-2.0
"""Recomputes what `inferogram stats` says from the rows of `inferogram query`, and compares every number.

usage: recompute.py INFEROGRAM TRACE    prints one TAP-like line per grouping; exit 1 if any number differs
"""
import json
import math
import subprocess
import sys

TOOL, TRACE = sys.argv[1:3]
PERCENTILES = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999))


def run(*arguments):
    done = subprocess.run([TOOL, *arguments], capture_output=True, check=True)
    return json.loads(done.stdout)


def load_slices():
    document = run("query", TRACE, "SELECT id, thread, thread_name, name, kind, category, model, function,"
                   " depth, parent_id, start_ns, dur_ns, unfinished FROM slice", "--json", "--max-rows", "5000000")
    return [dict(zip(document["columns"], row)) for row in document["rows"]]


def location_name(row):
    if row["kind"] == "ml":
        return f'{row["model"]} · {row["function"]} · {row["name"]}'
    return row["name"]


GROUPS = {
    "zone": location_name,
    "model": lambda row: row["model"] if row["kind"] == "ml" else None,
    "category": lambda row: row["category"] if row["kind"] == "ml" else None,
    "op": lambda row: row["name"] if row["kind"] == "op" else None,
    "function": lambda row: f'{row["model"]} · {row["function"]}' if row["kind"] == "ml" else None,
    "thread": lambda row: f'{row["thread"]} {row["thread_name"]}' if row["depth"] == 0 else None,
}


def percentile(values, p, how):
    if how == "nearest":
        return values[min(len(values) - 1, int(len(values) * p))]
    at = (len(values) - 1) * p
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def expected_rows(slices, by, how, begin, end, wanted):
    inside = {}
    for row in slices:
        if row["parent_id"] is not None:
            inside[row["parent_id"]] = inside.get(row["parent_id"], 0) + row["dur_ns"]
    groups = {}
    for row in slices:
        name = GROUPS[by](row)
        if name is None or row["unfinished"] or not begin <= row["start_ns"] < end or not wanted(row):
            continue
        groups.setdefault((name, row["kind"] if by == "zone" else ""), []).append(row)
    result = {}
    for (name, _), rows in groups.items():
        values = sorted(row["dur_ns"] for row in rows)
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0
        result[name] = {
            "count": len(values), "total_ns": sum(values), "mean_ns": mean, "sd_ns": deviation,
            "min_ns": values[0], "max_ns": values[-1],
            "self_ns": sum(row["dur_ns"] - inside.get(row["id"], 0) for row in rows),
        }
        for key, p in PERCENTILES:
            result[name][key] = percentile(values, p, how)
    return result


def compare(label, got, expected):
    rows = {row["name"]: row for row in got["rows"] if row["count"]}
    problems = [f"{label}: rows {sorted(rows)} instead of {sorted(expected)}"] if set(rows) != set(expected) else []
    for name in set(rows) & set(expected):
        for key, value in expected[name].items():
            if not math.isclose(rows[name][key], value, rel_tol=1e-9, abs_tol=1e-6):
                problems.append(f"{label}: {name}: {key} is {rows[name][key]}, recomputed {value}")
        share = expected[name]["total_ns"] / got["range_ns"]
        if not math.isclose(rows[name]["share"], share, rel_tol=1e-9):
            problems.append(f"{label}: {name}: share is {rows[name]['share']}, recomputed {share}")
    return problems


def main():
    slices = load_slices()
    problems = []
    for by in GROUPS:
        for how in ("linear", "nearest"):
            got = run("stats", TRACE, "--by", by, "--percentile", how, "--json")
            expected = expected_rows(slices, by, how, 0, math.inf, lambda row: True)
            problems += compare(f"by {by}, {how}", got, expected)
    # The middle half of them, wherever that is: on a busy machine the first one may come late.
    starts = sorted(row["start_ns"] for row in slices if row["name"] in ("blur", "draw"))
    begin, end = (starts[len(starts) * part // 4] // 1000 for part in (1, 3))
    got = run("stats", TRACE, "--from", f"{begin}us", "--to", f"{end}us", "--name", "^(blur|draw)$", "--json")
    expected = expected_rows(slices, "zone", "linear", begin * 1000, end * 1000, lambda row: row["name"] in ("blur", "draw"))
    # The filter is on names; self time of a blur has no children, so it is the same with and without.
    problems += compare("time range and name", got, expected)
    if not expected:
        problems.append("the filtered comparison compared nothing")
    print("\n".join(problems[:20]) or f"{len(slices)} slices: every number agrees")
    return 1 if problems else 0


sys.exit(main())
