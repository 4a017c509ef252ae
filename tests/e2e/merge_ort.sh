#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recordings of ONNX Runtime in one: launched with operators, samples, allocations and inputs, and attached with
# operators. Every row of every table is that of its trace, and the statistics of a model are those of all of its runs.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_plain_build
need python-1.31.1 silero
python=$(cached python-1.31.1)/bin/python
silero=$(cached silero)/silero_vad_v5.onnx
cd "$T" || exit 99

sum() { python3 "$SOURCE_DIR/tests/e2e/merge_compare.py" "$INFEROGRAM" "$@"; }
run_python() { # FILE RUNS OPTIONS...
    run_file=$1
    run_count=$2
    shift 2
    "$INFEROGRAM" record -q -o "$run_file" "$@" -- "$python" "$SOURCE_DIR/tests/runtimes/python/outputs.py" arrays "$silero" \
        "$run_count" >out 2>err || fail "a recording" "$(cat err)"
}
per_model() {
    trace=$1
    rows "SELECT model, function, category, count(*), sum(dur_ns), min(dur_ns), max(dur_ns) FROM ml_event GROUP BY 1, 2, 3"
}

run_python one.ifg 20 --ops=1 --memory --sample=499 --capture-inputs=2
run_python two.ifg 30 --ops=4 --capture-inputs=1
parts="one.ifg two.ifg"
if [ "$(id -u)" -eq 0 ] && "$INFEROGRAM" record --next --name nobody-at-all --timeout 10ms 2>&1 | grep -q "no process created"; then
    have ort-node-1.20.1
    steady steady.log "$PROGRAMS/ort_steady" steady.log 5000 "$(ort 1.20.1)" "$models/mixed.onnx"
    ok "attached" "$INFEROGRAM" record -q --ops=1 --duration 0.5 --pid "$steady" -o attached.ifg
    settle "$steady"
    parts="$parts attached.ifg"
else
    skip "attached" "probes: attaching needs root here"
fi
# shellcheck disable=SC2086 # several words
ok "all of them" "$INFEROGRAM" merge $parts -o all.ifg
# shellcheck disable=SC2086
result=$(sum all.ifg $parts)
matches "every row of every table is that of its trace" "$result" "^same, [0-9]{4,} rows"
note "$result"
for part in $parts; do per_model "$part"; done >parts.csv
per_model all.ifg >all.csv
is "the statistics of each model are those of its runs" "$(python3 - parts.csv all.csv <<'EOP'
import csv, sys
def read(name):
    found = {}
    for *key, count, total, least, most in csv.reader(open(name)):
        at = found.setdefault(tuple(key), [0, 0, 10**18, 0])
        found[tuple(key)] = [at[0] + int(count), at[1] + int(total), min(at[2], int(least)), max(at[3], int(most))]
    return found
print(read(sys.argv[1]) == read(sys.argv[2]) and len(read(sys.argv[2])) > 2)
EOP
)" True
trace=all.ifg
is "the same content is one model" "$(rows "SELECT count(*), count(DISTINCT model) FROM ml_event WHERE category = 'inference'
    AND model LIKE 'silero%'")" "50,1"
for event in $(rows "SELECT DISTINCT slice FROM input"); do
    "$INFEROGRAM" export all.ifg --format npz --event "$event" -o "$event.npz" 2>>err || cat err
done
is "their inputs can be had" "$(find . -name '*.npz' | wc -l)" 3
ok "a report of it" "$INFEROGRAM" report all.ifg
ok "an export of it" "$INFEROGRAM" export all.ifg --format perfetto -o all.perfetto
done_testing
