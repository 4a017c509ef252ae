#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every statistic that bench writes, recomputed from the raw samples by a script that shares no code with the tool.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"
check="$SOURCE_DIR/tests/e2e/bench_statistics.py"

recomputed() {
    recomputed_name=$1
    shift
    bench --json "$@" >"$T/result.json" 2>"$T/stderr" || note "$(cat "$T/stderr")"
    if python3 "$check" "$T/result.json" >"$T/differs" 2>&1; then
        pass "$recomputed_name: $(cat "$T/differs")"
    else
        fail "$recomputed_name" "$(cat "$T/differs")"
    fi
}

fake uneven run_us=150 jitter_us=100 stall_at=40 stall_ms=5
recomputed "one row" "$T/uneven" -n 80 --processes 3 --slo 0.2ms
cp "$T/result.json" "$T/whole.json"
recomputed "two rows, nearest rank" "$T/uneven" -n 40 --threads 1,2 --percentile nearest --batch 4
recomputed "one process" "$T/uneven" -n 400 --processes 1
recomputed "too little for intervals" "$T/uneven" -n 3 --processes 1
recomputed "queries of several inferences" "$T/uneven" -n 20 --scenario multi --per-query 3
recomputed "several workers" "$T/uneven" -n 60 --scenario offline --concurrency 2
recomputed "an open loop" "$T/uneven" -n 100 --scenario server --rate 1000 --concurrency 1 --slo 1ms

# The script itself: whatever is changed, it says so.
changed() { # NAME STATEMENTS
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(d, open(sys.argv[3], "w"))' "$T/whole.json" "$2" "$T/changed.json"
    exits "$1" 1 python3 "$check" "$T/changed.json"
}
keys="mean_ms std_ms min_ms max_ms p50_ms p90_ms p95_ms p99_ms p999_ms mad_ms throughput_fps goodput block_cv
block_autocorrelation effective_blocks first_ms load_ms intervals.p50.low intervals.p50.high intervals.p90.high
intervals.throughput_fps.low outliers memory.peak_bytes intervals.p999.needs"
changed "numbers that were changed" 'for key in "'"$(echo "$keys" | tr '\n' ' ')"'".split():
    *path, last = key.split("."); inside = d
    for part in path: inside = inside[part]
    inside[last] = inside[last] * (1 + 1e-6) + 1e-7 if isinstance(inside[last], float) else inside[last] + 1'
for key in $keys; do
    contains "$key is named" "$(cat "$T/stdout")" "$key: the document has"
done
changed "a sample that was changed" 'd["raw_samples_ms"][7] *= 1.01'
contains "moves the mean" "$(cat "$T/stdout")" "mean_ms: the document has"
exits "what is no result" 2 python3 "$check" "$check"
done_testing
