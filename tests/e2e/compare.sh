#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models, settings, plugins and result files against each other, with a runtime that takes the time it is told.
. "$TAP_SH"

fake=$BENCH_FAKE
a=$T/a.fake
b=$T/b.fake
printf 'fake\nrun_us=500\n' >"$a"
printf 'fake\nrun_us=1500\nscale=1.01\n' >"$b"

compare() { "$INFEROGRAM" compare --runtime "$fake" "$@"; }
few() { compare --pairs 14 --pairs-max 14 --processes 7 --threshold 5 "$@"; }
value() { python3 -c 'import json,math,sys; d=json.load(open(sys.argv[1])); r=d["rows"]; print(eval(sys.argv[2]))' "$1" "$2"; }

# ---- models ----
exits "three times as slow is REGRESSED" 1 few "$a" "$b" --explain
out=$(cat "$T/stdout")
matches "the answer comes first" "$(head -n 1 "$T/stdout")" '^REGRESSED  b.fake: \+[0-9.]+ % \[\+[0-9.]+, \+[0-9.]+\] against a.fake'
contains "the baseline is in the table" "$out" "baseline"
contains "the unit is named" "$out" "14 interleaved block pairs (ABBA) in 7 processes"
contains "alpha and threshold too" "$out" "alpha 0.05 over 3 looks (1 taken; intervals 98.3 %), threshold 5 %"
contains "outputs are compared" "$out" "cosine 1, SQNR 40 dB"
contains "it explains" "$out" "REGRESSED if low > +5 %"
contains "with a second opinion" "$out" "Hodges-Lehmann"
# Minutes do not pass unannounced.
contains "the plan was told before" "$(cat "$T/stderr")" \
    "plan: 7 processes with all 2 interleaved, and more if that is not certain; at most 5 min (--max-time)"

exits "the other way round is IMPROVED" 0 few "$b" "$a" -q
matches "and says so" "$(cat "$T/stdout")" '^IMPROVED '
lacks "no plan if quiet" "$(cat "$T/stderr")" "plan:"

if command -v script >/dev/null 2>&1; then
    terminal=$(script -qec "'$INFEROGRAM' compare --runtime '$fake' '$b' '$a' --pairs 14 --pairs-max 14 --processes 7 --threshold 5" /dev/null </dev/null)
    contains "a terminal shows where it is" "$terminal" "measuring pairs"
else
    skip "a terminal" "tools: script(1) is not installed"
fi

# ---- a faster way to another answer is no improvement ----
printf 'fake\nrun_us=1500\n' >"$T/right.fake"
for scale in -1 2 0 nan inf 0.5; do
    printf 'fake\nrun_us=500\nscale=%s\n' "$scale" >"$T/wrong.fake"
    exits "outputs times $scale are not IMPROVED" 1 few "$T/right.fake" "$T/wrong.fake" -q
    matches "they differ" "$(cat "$T/stdout")" "^DIFFERS +wrong.fake: -[0-9.]+ % .*; but output 'y' .*--min-cosine"
done
few "$T/right.fake" "$T/wrong.fake" --json >"$T/wrong.json" 2>"$T/stderr"
is "in JSON too" "$(value "$T/wrong.json" 'r[1]["verdict"], r[1]["time_verdict"], r[1]["outputs_differ"], d["verdict"], d["min_cosine"], d["max_diff"]')" \
    "('DIFFERS', 'IMPROVED', True, 'outputs differ', 0.95, None)"
is "with the reason" "$(value "$T/wrong.json" '"50 % of its length" in r[1]["outputs_reason"]')" True
exits "a limit of one's own" 0 few "$T/right.fake" "$T/wrong.fake" -q --min-cosine 0.8
matches "makes it faster again" "$(cat "$T/stdout")" '^IMPROVED +wrong.fake'
exits "not asked for" 0 few "$T/right.fake" "$T/wrong.fake" -q --no-accuracy
printf 'fake\nrun_us=500\nscale=1.01\n' >"$T/near.fake"
exits "near enough" 0 few "$T/right.fake" "$T/near.fake" -q
exits "but for a small --max-diff" 1 few "$T/right.fake" "$T/near.fake" -q --max-diff 1e-6
contains "which is named" "$(cat "$T/stdout")" "at most 1e-06 is allowed"
printf 'fake\nrun_us=500\nscale=nan\n' >"$T/nan.fake"
few "$T/nan.fake" "$T/nan.fake" >"$T/stdout" 2>"$T/stderr"
matches "NaN on both sides is told" "$(cat "$T/stdout")" "^! nan.fake .2.: [0-9]+ of [0-9]+ elements of output 'y' are NaN or infinite, in the baseline too"
for wrong in '--min-cosine 2' '--min-cosine x' '--max-diff -1' '--max-diff nan'; do
    # shellcheck disable=SC2086 # two words
    exits "$wrong" 2 few "$a" "$b" $wrong
done
gate() { "$INFEROGRAM" gate --runtime "$fake" --pairs 14 --retries 0 --threshold 50 "$@"; }
exits "a gate fails too" 1 gate "$T/wrong.fake" --against "$T/right.fake"
matches "by a check of its own" "$(cat "$T/stdout")" "^FAIL +outputs +output 'y' is off by 50 % of its length, at most 31.6 % is allowed against .*right.fake"
matches "beside the time" "$(cat "$T/stdout")" '^PASS +p50 '
gate "$T/near.fake" --against "$T/right.fake" --json >"$T/gate.json"
is "and passes what is near enough" "$(python3 -c 'import json,sys; print([(c["kind"], c["verdict"], c["unit"]) for c in json.load(open(sys.argv[1]))["checks"]])' "$T/gate.json")" \
    "[('relative', 'PASS', 'change'), ('outputs', 'PASS', 'cosine')]"
exits "a gate without outputs" 0 gate "$T/wrong.fake" --against "$T/right.fake" --no-accuracy
exits "limits without a base model" 2 gate "$T/wrong.fake" --max p50=1s --min-cosine 0.9

few "$a" "$a" --threshold 20 --json >"$T/same.json" 2>"$T/stderr"
status=$?
is "itself is neither slower nor faster" "$(value "$T/same.json" 'r[1]["verdict"] in ("SAME", "UNSURE")')" True
is "and the exit status agrees" "$status" "$(value "$T/same.json" '0 if r[1]["verdict"] == "SAME" else 3')"
is "its outputs are the same" "$(value "$T/same.json" '[(o["max_abs"], o["cosine"], o["equal"]) for o in r[1]["accuracy"]]')" \
    "[(0, 1, True)]"
is "names are told apart" "$(value "$T/same.json" '[row["name"] for row in r]')" "['a.fake', 'a.fake (2)']"
cat >"$T/again.py" <<'PYTHON'
import json, math, statistics, sys
row = json.load(open(sys.argv[1]))["rows"][1]
groups = {}
for a, b, process in zip(row["baseline_ms"], row["unit_ms"], row["unit_process"]):
    groups.setdefault(process, []).append(math.log(b / a))
change = math.expm1(statistics.median(statistics.fmean(g) for g in groups.values()))
print(len(groups) == row["independent"] and abs(change - row["change"]) < 1e-9)
PYTHON
is "the change comes from the units" "$(python3 "$T/again.py" "$T/same.json")" True

# ---- settings, and what does not work ----
exits "settings" 1 few "$a" --vary run_us=500,1500 --no-accuracy
contains "are named" "$(cat "$T/stdout")" "run_us=1500"
lacks "without outputs if not wanted" "$(cat "$T/stdout")" "accuracy"
printf 'fake\nrun_us=500\ncrash_at=100\n' >"$T/crash.fake"
printf 'fake\nrun_us=500\nfail_in=load\n' >"$T/broken.fake"
few "$a" "$T/crash.fake" "$T/broken.fake" "$b" --json >"$T/rows.json" 2>"$T/stderr"
is "what crashes or does not load is a row" "$(value "$T/rows.json" '[row["available"] for row in r]')" "[True, False, False, True]"
contains "with its reason" "$(value "$T/rows.json" 'r[1]["reason"]')" "signal"
is "the rest is compared all the same" "$(value "$T/rows.json" 'r[3]["verdict"] + " " + d["verdict"]')" "REGRESSED regressed"
exits "nothing to compare with" 4 few "$a" "$T/broken.fake"
contains "is said" "$(cat "$T/stdout")" "unavailable broken.fake: it was told to fail"
exits "no baseline" 4 few "$T/broken.fake" "$a"
contains "is said, too" "$(cat "$T/stderr")" "broken.fake, the baseline, cannot be measured: "
exits "a missing model" 2 few "$a" "$T/nothing.fake"

# ---- a process for each ----
cp "$fake" "$T/other.so"
"$INFEROGRAM" compare "$a" --vary "runtime=$fake,$T/other.so" --pairs 8 --pairs-max 8 --threshold 50 --json \
    >"$T/turns.json" 2>"$T/stderr"
is "plugins take turns in processes" "$(value "$T/turns.json" '(d["unit"], d["processes"], r[1]["verdict"] in ("SAME", "UNSURE"))')" \
    "('process', 16, True)"

# ---- wrong command lines ----
exits "nothing" 2 "$INFEROGRAM" compare
exits "one model" 2 compare "$a"
exits "one value" 2 compare "$a" --vary run_us=1
exits "no values" 2 compare "$a" --vary run_us
exits "another batch is other work" 2 compare "$a" --vary batch=1,2
exits "two models and --vary" 2 compare "$a" "$b" --vary run_us=1,2
exits "a threshold of nothing" 2 compare "$a" "$b" --threshold 0
exits "no pairs" 2 compare "$a" "$b" --pairs 0
exits "--measure without --run" 2 compare "$a" "$b" --measure cpu

# ---- Ctrl-C ----
# Where nothing was measured yet, it was too early.
for seconds in 1 4 16; do
    "$INFEROGRAM" compare --runtime "$fake" "$a" "$b" --pairs 5000 --processes 2 >"$T/stopped" 2>"$T/stderr" &
    tap_pids="$tap_pids $!"
    until_interruptible $!
    sleep $seconds
    kill -INT $!
    wait $!
    status=$?
    if [ -s "$T/stopped" ]; then break; fi
done
is "interrupted: exit status 3" "$status" 3
contains "what was measured is printed" "$(cat "$T/stopped")" "interrupted: this is what was measured until then"

# ---- results ----
for name in a b; do
    "$INFEROGRAM" bench "$T/$name.fake" --runtime "$fake" -n 40 --json >"$T/$name.json" 2>"$T/stderr"
done
cp "$T/a.json" "$T/c.json"
exits "other work is refused" 2 "$INFEROGRAM" compare "$T/a.json" "$T/b.json"
contains "and what differs is said" "$(cat "$T/stderr")" "a.json and b.json are not the same work"
# verdict FILE...: the word of the second row, and whether the exit status is that word's. What was measured beside many
# others can be unsure.
verdict() {
    "$INFEROGRAM" compare "$@" >"$T/stdout" 2>"$T/stderr"
    verdict_status=$?
    case "$(cut -d ' ' -f 1 "$T/stdout" | head -n 1) $verdict_status" in
    'REGRESSED 1') echo slower ;;
    'SAME 0') echo same ;;
    'UNSURE 3') echo unsure ;;
    *) echo "status $verdict_status: $(head -n 1 "$T/stdout")" ;;
    esac
}
matches "unless it is forced" "$(verdict "$T/a.json" "$T/b.json" --force --threshold 5)" '^(slower|unsure)$'
contains "labelled" "$(cat "$T/stdout")" "not interleaved"
contains "and what differs is still said" "$(cat "$T/stdout")" "! b.json differs from a.json: "
matches "the same file" "$(verdict "$T/a.json" "$T/c.json" --threshold 50)" '^(same|unsure)$'
"$INFEROGRAM" compare "$T/a.json" "$T/c.json" --threshold 50 --csv >"$T/results.csv"
matches "CSV: the header is stable" "$(head -n 1 "$T/results.csv")" '^name,baseline,available,reason,model_bytes,model_hash,p50_ms,'
is "CSV has the numbers of the results" "$(python3 - "$T" <<'PYTHON'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/results.csv")))
keys = ["p50_ms", "mean_ms", "std_ms", "p99_ms", "first_ms", "load_ms", "throughput_fps"]
result = json.load(open(sys.argv[1] + "/a.json"))
print(len(rows), [key for key in keys if float(rows[0][key]) != result[key]])
PYTHON
)" "2 []"
printf '{' >"$T/half.json"
exits "half a file" 2 "$INFEROGRAM" compare "$T/a.json" "$T/half.json"

done_testing
