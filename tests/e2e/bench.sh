#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram bench: its options and what it prints, on a runtime that does as it is told and on ONNX Runtime.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"

result() { # OPTIONS: the JSON document
    bench "$quick" --json "$@" >"$T/result.json" 2>"$T/stderr"
}

# ---- for people ----
ok "a model is measured" bench "$quick" -n 40
text=$(cat "$T/stdout")
is "and nothing is said beside" "$(cat "$T/stderr")" ""
contains "first line: model and runtime" "$(head -n 1 "$T/stdout")" "on Fake Runtime 1.2.3 / FakeProvider"
for label in inputs 'cold start' steady latency throughput memory placement trust; do
    matches "a line: $label" "$text" "^$label "
done
contains "the cold phase" "$text" "specialization not told by this runtime"
matches "an interval of the median" "$text" 'p50 [0-9.]+ (µs|ms) \[[0-9.]+, [0-9. ]+\]'
contains "what more samples would tell" "$text" "p99 needs 368 samples"
contains "and how to get them" "$text" "for the p99: -n 184"
contains "how much was measured" "$text" "n 80 in 2 processes"
contains "trust names what is not there" "$text" "not available: "
is "no line is longer than 100 columns" "$(grep -E '.{104}' "$T/stdout")" ""
lacks "no colours in a file" "$text" "$(printf '\033')"

# ---- for scripts ----
result -n 40 -o "$T/second.json"
for key in schema mean_ms std_ms min_ms max_ms p50_ms p90_ms p95_ms p99_ms p999_ms first_ms warmup_mean_ms \
    throughput_fps raw_samples_ms model runtime options host trust memory processes blocks; do
    is "JSON has $key" "$(value "'$key' in d")" True
done
is "schema" "$(value 'd["schema"]')" 1
is "all samples" "$(value 'len(d["raw_samples_ms"])')" 80
is "blocks cover them" "$(value 'sum(b["count"] for b in d["blocks"])')" 80
is "in both processes" "$(value 'sorted({b["process"] for b in d["blocks"]})')" "[0, 1]"
is "processes have their cold phase" "$(value 'all(p["warmup"] == 5 and p["first_ms"] > 0 for p in d["processes"])')" True
is "memory: delta is peak - before" "$(value 'd["memory"]["delta_bytes"] == d["memory"]["peak_bytes"] - d["memory"]["before_bytes"]')" True
is "throughput is inferences / wall" "$(value 'abs(d["throughput_fps"] / (80e3 / sum(b["wall_ms"] for b in d["blocks"])) - 1) < 1e-9')" True
is "-o writes the same document" "$(diff "$T/result.json" "$T/second.json" >/dev/null && echo same)" same
cp "$T/second.json" "$T/kept.json"
# Minutes do not pass unannounced.
ok "a plan" "$INFEROGRAM" bench --runtime "$BENCH_FAKE" "$quick" --duration 400ms --processes 2 --warmup-max 3s
contains "says what is measured, and how long that takes at most" "$(cat "$T/stderr")" \
    "plan: 2 processes, 0.2 s of measuring in each after a warm-up until its times are steady, 3 s at most; 6.4 s at most, and loading"
ok "measures as long as it was told" "$INFEROGRAM" bench -q --runtime "$BENCH_FAKE" "$quick" --duration 400ms --processes 2 -w 5 --json
cp "$T/stdout" "$T/result.json"
# Of each process: the last inference has begun in its time, whatever the machine did meanwhile.
own='[x for b in d["blocks"] if b["process"] == p for x in d["raw_samples_ms"][b["first"]:b["first"] + b["count"]]]'
begun="all(sum(own[:-1]) <= 200.001 for p in (0, 1) for own in [$own])"
is "in all processes together" "$(value "380 < sum(b['wall_ms'] for b in d['blocks']), $begun")" "(True, True)"
ok "no plan if quiet" bench "$quick" -n 5
lacks "none" "$(cat "$T/stderr")" "plan:"
exits "-o does not replace a file" 2 bench "$quick" -n 10 -o "$T/second.json"
contains "but says how to" "$(cat "$T/stderr")" "second.json exists already; -f replaces it"
ok "it is as it was" cmp "$T/second.json" "$T/kept.json"
ok "-o beside the text" bench "$quick" -n 10 -f -o "$T/second.json"
matches "prints the text" "$(cat "$T/stdout")" '^latency '
ok "and has the document" python3 -m json.tool "$T/second.json"
if [ -f "$SOURCE_DIR/tests/e2e/bench_statistics.py" ]; then
    ok "every number can be computed again" python3 "$SOURCE_DIR/tests/e2e/bench_statistics.py" "$T/result.json"
fi
ok "--csv" bench "$quick" -n 10 --csv --threads 1,2
is "has a line per row and a heading" "$(wc -l <"$T/stdout")" 3
ok "--winml-json" sh -c "'$INFEROGRAM' bench -q --runtime '$BENCH_FAKE' -w 5 --processes 1 '$quick' -n 10 --winml-json >'$T/result.json'"
is "has the keys of winml perf" "$(value '{"benchmark_info", "model_info", "latency_ms", "throughput", "raw_samples_ms"} <= set(d)')" True

# ---- how much ----
result --duration 400ms
wall='sum(b["wall_ms"] for b in d["blocks"])'
is "--duration is used up, by all processes together" "$(value "$wall >= 396")" True
is "and no inference begins after it" "$(value "$begun")" True
result -n 20 --start-iter 5
is "--start-iter leaves the first ones out" "$(value 'len(d["raw_samples_ms"]), d["processes"][0]["warmup"]')" "(30, 10)"
result -n 20 --samples 4
is "--samples keeps so many" "$(value 'len(d["raw_samples_ms"])')" 8
result --duration 300ms --start-delay 100ms
is "--start-delay leaves the first moments out" "$(value 'd["processes"][0]["warmup"] > 5')" True
fake warming run_us=100 warm_runs=15 warm_us=8000
result_of_warming() {
    "$INFEROGRAM" bench -q --runtime "$BENCH_FAKE" --processes 1 "$T/warming" --warmup-max 2s -n 50 --json "$@" >"$T/result.json"
}
result_of_warming
is "the warm-up goes on until times are steady" "$(value 'd["processes"][0]["warmup"] >= 30')" True
is "the slow ones are the warm-up's" "$(value 'd["first_ms"] > 8 and d["p50_ms"] < 4')" True
result_of_warming -w 0
is "-w 0: the first inference counts" "$(value 'd["processes"][0]["warmup"], d["raw_samples_ms"][0] == d["first_ms"]')" "(0, True)"
result -n 100 --percentile nearest
is "--percentile nearest: an element" "$(value 'd["p99_ms"] in d["raw_samples_ms"]')" True
is "is named" "$(value 'd["percentile_rule"]')" nearest

# ---- rows ----
result -n 10 --threads 1,2
is "--threads 1,2: two rows" "$(value '[(r["name"], r["settings"]) for r in d["rows"]]')" \
    "[('1 thread', 'threads=1'), ('2 threads', 'threads=2')]"
ok "as a table" bench "$quick" -n 10 --threads 1,2
matches "with a line for each" "$(cat "$T/stdout")" '^  2 threads +[0-9.]+ (µs|ms)'
result -n 10 --seed 7 --batch 1
contains "the seed is told" "$(value 'd["inputs"]')" "random (seed 7)"

# ---- while it runs ----
ok "--live" bench "$quick" --duration 2500ms --live
matches "a line every second, without a terminal too" "$(cat "$T/stderr")" '^ +[1-9] s  [0-9 ]+ inferences/s  p50 [0-9.]+ (µs|ms)  p99 .*  max '
on_terminal() { script -qec "$1" /dev/null </dev/null; }
if command -v script >/dev/null 2>&1; then
    command="'$INFEROGRAM' bench --runtime '$BENCH_FAKE' '$quick' -w 5 -n 200 --processes 1"
    contains "progress on a terminal" "$(on_terminal "$command 2>&1 >/dev/null")" "measuring "
    lacks "none with -q" "$(on_terminal "$command -q 2>&1 >/dev/null")" "measuring"
    is "none where stderr is no terminal" "$(on_terminal "$command 2>'$T/progress' >/dev/null"; cat "$T/progress")" ""
    contains "bold on a terminal" "$(on_terminal "$command 2>/dev/null")" "$(printf '\033[1m')"
    lacks "never with NO_COLOR" "$(NO_COLOR=1 on_terminal "$command 2>/dev/null")" "$(printf '\033[1m')"
else
    skip "terminals" "tools: script(1) is not installed"
fi
exits "a full disk" 1 sh -c "'$INFEROGRAM' bench -q --runtime '$BENCH_FAKE' '$quick' -w 1 -n 5 --processes 1 >/dev/full"
contains "is told" "$(cat "$T/stderr")" "cannot write the result: No space left"
exits "a full disk under -o" 1 bench "$quick" -n 5 -o /dev/full
# On a disk of 8 KiB there is room for some of the document. What was there before stays, and nothing else appears.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$T/disk"
    # shellcheck disable=SC2016 # the inner shell's
    exits "a disk that becomes full" 1 unshare -m sh -c 'mount -t tmpfs -o size=8k tmpfs "$1/disk" || exit 99
        echo kept >"$1/disk/old.json"
        "$2" bench -q --runtime "$3" "$4" -w 1 -n 2000 --processes 1 -o "$1/disk/new.json" >/dev/null; status=$?
        "$2" bench -q --runtime "$3" "$4" -w 1 -n 2000 --processes 1 -f -o "$1/disk/old.json" >/dev/null
        ls -A "$1/disk" >"$1/left"; cat "$1/disk/old.json" >>"$1/left"; exit $status' sh "$T" "$INFEROGRAM" "$BENCH_FAKE" "$quick"
    contains "is told" "$(cat "$T/stderr")" "No space left"
    is "no half of a document is left, and the old one is whole" "$(tr '\n' ' ' <"$T/left")" "old.json kept "
else
    skip "a disk that becomes full" "namespaces: needs root and mount namespaces (unshare -m)"
fi
exits "a closed output" 1 sh -c "'$INFEROGRAM' bench -q --runtime '$BENCH_FAKE' '$quick' -w 1 -n 5 --processes 1 >&-"
ok "--load-only" bench "$quick" --load-only
matches "tells the load" "$(cat "$T/stdout")" '^cold start +process .* load '
lacks "and runs nothing" "$(cat "$T/stdout")" "latency"

# ---- ONNX Runtime ----
if ! have ort-node-1.30.0; then
    skip "ONNX Runtime" "runtimes: $(tail -n 1 "$T/fetch")"
    done_testing
fi
IFG_ORT=$(ort 1.30.0)
export IFG_ORT
real() { "$INFEROGRAM" bench -w 5 -n 20 --processes 1 "$@"; }
ok "which library is used is said" real "$models/mixed.onnx"
contains "on stderr" "$(cat "$T/stderr")" "inferogram: ONNX Runtime is "
contains "and where it is from" "$(cat "$T/stderr")" "IFG_ORT"
contains "model and runtime" "$(head -n 1 "$T/stdout")" "mixed.onnx (330 B, opset 13) on ONNX Runtime 1.30.0 / CPU"
contains "placement" "$(cat "$T/stdout")" "CPU 12 nodes"
ok "a provider that is absent is a row" real -q "$models/mixed.onnx" --ep cpu,cuda
matches "with its reason" "$(cat "$T/stdout")" '^  cuda +unavailable: CUDAExecutionProvider'
exits "unless it is required" 4 real -q "$models/mixed.onnx" --ep cpu,cuda --require
exits "alone it is the answer" 4 real -q "$models/mixed.onnx" --ep cuda
ok "--policy" real -q "$models/mixed.onnx" --policy PREFER_NPU -f -o "$T/result.json"
matches "which was asked for, and that there is no NPU" "$(cat "$T/stdout")" '^policy +PREFER_NPU: fallback, all nodes run on the CPU; the runtime has no NPU'
is "in JSON" "$(value 'd["policy"], d["policy_fallback"]')" "('PREFER_NPU', True)"
ok "a policy and several rows" real -q "$models/mixed.onnx" --policy PREFER_NPU --threads 1,2
is "each row says what was asked for, and that it fell back" "$(grep -c '^  .* CPU 12 nodes · PREFER_NPU: fallback$' "$T/stdout")" 2
ok "--policy PREFER_CPU" real -q "$models/mixed.onnx" --policy PREFER_CPU
matches "is no fallback" "$(cat "$T/stdout")" '^policy +PREFER_CPU$'
ok "--winml-json" sh -c "'$INFEROGRAM' bench -q '$models/mixed.onnx' --processes 1 -w 5 -n 10 --policy PREFER_NPU --winml-json >'$T/result.json'"
is "asked for and obtained" "$(value 'd["benchmark_info"]["requested_policy"], d["benchmark_info"]["policy_fallback"], d["benchmark_info"]["actual_providers"]')" "('PREFER_NPU', True, ['CPUExecutionProvider'])"
matches "why nothing was monitored" "$(value 'd["hw_monitor"], d["hw_monitor_reason"]')" "^.None, .bench does not measure"
ok "--ep-sets" real -q "$models/mixed.onnx" --ep-sets "all;cpu+npu;cpu+gpu;cpu" -f -o "$T/result.json"
is "four rows, one of them here" "$(value '[(r["name"], r["available"]) for r in d["rows"]]')" \
    "[('all', False), ('cpu+npu', False), ('cpu+gpu', False), ('cpu', True)]"
real -q "$models/mixed.onnx" --json >"$T/result.json"
is "the model's identity" "$(value 'len(d["model"]["hash"]) >= 16, d["runtime"]["version"]')" "(True, '1.30.0')"

# In a sanitized build our hooks cannot be loaded into the runner's surroundings as they are.
if sanitized; then
    skip "traces" "a sanitized library cannot be preloaded"
    done_testing
fi
ok "--trace" real -q "$models/mixed.onnx" --trace "$trace"
is "has the inferences" "$(counts | grep -o 'inference [0-9]*')" "inference 20"
exits "a trace is not overwritten" 2 real -q "$models/mixed.onnx" --trace "$trace"
contains "unless told" "$(cat "$T/stderr")" "exists; name another file, or replace it with -f"
ok "--load-only --trace" real -q "$models/mixed.onnx" --load-only --trace "$trace" -f
lacks "shows no inference" "$(counts)" "inference"
mkdir "$T/tmp"
TMPDIR=$T/tmp real -q "$models/mixed.onnx" --ops=10 --json >"$T/result.json"
is "operators, each counted" "$(value 'len(d["operators"]), {o["count"] for o in d["operators"]}')" "(12, {10})"
is "shares add up" "$(value 'abs(sum(o["share"] for o in d["operators"]) - 1) < 1e-9')" True
is "and where they run" "$(value '{o["provider"] for o in d["operators"]}')" "{'CPUExecutionProvider'}"
is "nothing of ours is left behind" "$(find "$T/tmp" -name 'inferogram*')" ""
ok "as text" real -q "$models/mixed.onnx" --ops=10
matches "by type" "$(cat "$T/stdout")" '^operators +[A-Z][a-z]+ [0-9.]+ % · '

done_testing
