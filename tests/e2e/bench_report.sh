#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports of single inferences that bench writes: types, sampling, one per interval.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"

rows() { awk 'NR > 5' "$1" | wc -l; }
first_column() { awk -F, 'NR > 5 { print $1 + 0 }' "$1" | tr '\n' ' '; }
events() { python3 -c 'import json, sys
d = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
print(eval(sys.argv[2]))' "$1" "$2"; }

# ---- types ----
ok "both types from one run" bench "$quick" -n 40 --type latency --type trace --report-dir "$T/both" -o "$T/result.json"
file=$T/both/aic-profiling-program-1-latency.txt
is "the four lines of AIC100's file" "$(head -n 4 "$file")" "Profiling Data
ProgramId:1
ProgramName: quick
NumSamples collected: 80 Num Requested: 80"
is "a row for each inference of both processes" "$(rows "$file")" 80
is "and the times are those that were measured" "$(python3 -c 'import json, sys
told = [float(line.split(",")[5]) for line in open(sys.argv[1]).readlines()[5:]]
print(all(abs(a - 1e3 * b) < 0.01 for a, b in zip(told, json.load(open(sys.argv[2]))["raw_samples_ms"], strict=True)))' \
    "$file" "$T/result.json")" True
file=$T/both/aic-profiling-program-1-trace.json
is "the trace has them too" "$(events "$file" 'len(d)')" 80
is "with the process" "$(events "$file" 'sorted({e["args"]["process"] for e in d})')" "[1, 2]"
is "in the order of their starts" "$(events "$file" '[e["args"]["sample"] for e in d] == list(range(80)) and all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for a, b in zip(d, d[1:]))')" True
fake slow run_us=5000
ok "workers" bench "$T/slow" -n 20 --type trace --report-dir "$T/workers" --concurrency 2
is "have tracks of their own, on which nothing overlaps" \
    "$(events "$T/workers/aic-profiling-program-1-trace.json" \
        'len({e["tid"] for e in d}) > 2 and len(d) == 40 and all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for t in {e["tid"] for e in d} for l in [[e for e in d if e["tid"] == t]] for a, b in zip(l, l[1:]))')" True
ok "two rows" bench "$quick" -n 5 --threads 1,2 --type latency --report-dir "$T/rows"
is "are two programs" "$(sed -n 2,3p "$T/rows/aic-profiling-program-2-latency.txt")" "ProgramId:2
ProgramName: quick, 2 threads"
ok "a server's queue" bench "$quick" --scenario server --rate 3000 --concurrency 1 --duration 300ms --report-dir "$T/server"
lacks "is time before the inference" "$(awk -F, 'NR > 5 { print $7 }' "$T/server/aic-profiling-program-1-latency.txt")" "N/A"

# ---- files ----
ok "again" bench "$quick" -n 5 --report-dir "$T/both"
is "latency is what is written if nothing is said, and older files stay" "$(find "$T/both" -type f | wc -l)" 3
is "the next one has a number" "$(rows "$T/both/aic-profiling-program-1-latency-2.txt")" 10
ok "replaced if so told" bench "$quick" -n 5 --report-dir "$T/both" -f
is "then there are no more" "$(find "$T/both" -type f | wc -l) $(rows "$T/both/aic-profiling-program-1-latency.txt")" "3 10"
: >"$T/plain"
exits "no directory" 2 bench "$quick" --report-dir "$T/plain"
contains "is told before it runs" "$(cat "$T/stderr")" "reports cannot be written into $T/plain: it is not a directory"

# ---- sampling ----
ok "every sixteenth" bench "$quick" -n 80 --sampling sixteenth --report-dir "$T/sampled" -o "$T/result.json" -f
is "of 160 are 10, with their numbers" "$(first_column "$T/sampled/aic-profiling-program-1-latency.txt")" \
    "0 16 32 48 64 80 96 112 128 144 "
contains "which the head says" "$(cat "$T/sampled/aic-profiling-program-1-latency.txt")" "NumSamples collected: 10 Num Requested: 160"
is "the result is of all of them" "$(value 'len(d["raw_samples_ms"])')" 160
ok "half" bench "$quick" -n 20 --sampling half --type trace --report-dir "$T/half"
is "in a trace" "$(events "$T/half/aic-profiling-program-1-trace.json" '[e["args"]["sample"] for e in d] == list(range(0, 40, 2))')" True

# ---- a report per interval ----
"$INFEROGRAM" bench --runtime "$BENCH_FAKE" "$quick" -w 5 --processes 1 --duration 60s --report-rate 100 --report-dir "$T/rate" \
    -o "$T/result.json" -f >"$T/stdout" 2>"$T/stderr" &
tap_pids="$tap_pids $!"
pid=$!
tries=0
while ! test -e "$T/rate/aic-profiling-program-1-latency-0003.txt" && test $tries -lt 400; do
    sleep 0.1
    tries=$((tries + 1))
done
ok "reports come while it runs" kill -0 $pid
kill -INT $pid
wait $pid
is "and its end is as ever" $? 3
matches "how many is said" "$(cat "$T/stderr")" "[0-9]+ reports in $T/rate"
is "every inference is in one of them, once" "$(python3 -c 'import glob, json, sys
told = [int(line.split(",")[0]) for name in sorted(glob.glob(sys.argv[1] + "/*-latency-*.txt")) for line in open(name).readlines()[5:]]
print(told == list(range(len(json.load(open(sys.argv[2]))["raw_samples_ms"]))))' "$T/rate" "$T/result.json")" True

# ---- wrong ----
exits "another type" 2 bench "$quick" --type stats
exits "another sampling" 2 bench "$quick" --sampling third
exits "a rate that is too fast" 2 bench "$quick" --report-rate 10
exits "nothing is run" 2 bench "$quick" --load-only --type latency

done_testing
