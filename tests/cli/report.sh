#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram report: what it says of traces written by hand, its two outputs, odd and wrong input.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"

for kind in showcase many odd plain empty; do
    ok "a trace: $kind" "$REPORT_TRACES" "$kind" "$T/$kind.ifg"
done
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/report.json" "$1"; }

exits "for people" 0 "$INFEROGRAM" report "$T/showcase.ifg"
cp "$T/stdout" "$T/text"
is "says nothing on stderr" "$(cat "$T/stderr")" ""
is "who, where, how long" "$(head -n 1 "$T/text")" \
    "app on 4 x Test CPU (virtual machine), 4.57 s, ONNX Runtime 1.30.0"
is "where it runs comes first" "$(sed -n 3,4p "$T/text" | tr -s ' \n' ' ')" \
    " det: CUDA was requested and refused (CUDA execution provider is not enabled in this build); CPU runs all 400 nodes. "
matches "the header of a model" "$(cat "$T/text")" '^  det · main \(pid 4711\) +CPU 400/400 nodes · cold · 4.75 MB$'
matches "its loads" "$(cat "$T/text")" '^    load +4 +89\.0 ms +89\.0 ms +– +– +89\.0 ms +356 ms +7\.8 %$'
matches "perturbed inferences are left out" "$(cat "$T/text")" '^    inference +60 +5\.00 ms'
contains "with their cost" "$(cat "$T/text")" "(+ 4 with operators, +16 % each)"
contains "async and failed ones are told" "$(cat "$T/text")" "(6 of them async; + 1 failed)"
contains "stages" "$(cat "$T/text")" \
    "Per request (mean of 200)  pre 2.00 ms (10 %) · inference 15.3 ms (79 %) · post 2.00 ms (10 %)"
contains "operators" "$(cat "$T/text")" "Top operators (4 inferences)  Conv 69 % · Add 16 % · Relu 16 % (resolution 1 µs)"
matches "the first finding" "$(sed -n '/^Findings/{n;p;}' "$T/text")" '^  ! ep-fallback '
matches "a finding names events" "$(cat "$T/text")" '^  ! repeated-load .* events 0, 252, 504 \.\.\.$'
contains "and the fix" "$(cat "$T/text")" "→ keep one session"
contains "the recorder's cost" "$(cat "$T/text")" "the recorder used 0.7 % of one CPU"
contains "what was not available, and why" "$(cat "$T/text")" "not available: GPU (no driver)"
contains "losses" "$(cat "$T/text")" "3 definitions that found the log full"
lacks "no escape sequences" "$(cat "$T/text")" "$(printf '\033')"
is "at most 100 columns" "$(LC_ALL=C.UTF-8 grep -E '.{101}' "$T/text" | grep -v inferogram)" ""

exits "for scripts" 0 "$INFEROGRAM" report "$T/showcase.ifg" --json
cp "$T/stdout" "$T/report.json"
is "schema" "$(value 'list(d)[0], d["schema"]')" "('schema', 1)"
is "models, most time first" "$(value '[m["name"] for m in d["models"]]')" "['det', 'cls', 'rec']"
is "placement" "$(value 'd["models"][0]["placement"]')" \
    "{'requested': ['CUDAExecutionProvider', 'CPUExecutionProvider'], 'actual': ['CPUExecutionProvider'], 'nodes': {'CUDAExecutionProvider': 0, 'CPUExecutionProvider': 400}, 'source': 'assignment info', 'policy': ''}"
is "specialization" "$(value '[m["specialization"] for m in d["models"]]')" "['cold', 'unknown', 'unknown']"
is "all categories" "$(value 'list(d["models"][0]["functions"][0]["events"])')" \
    "['prepare-ep', 'specialization', 'load', 'setup', 'inference']"
is "figures of loads" "$(value '[d["models"][0]["functions"][0]["events"]["load"][k]
    for k in ("count", "first_ms", "min_ms", "median_ms", "mean_ms", "p90_ms", "p99_ms", "max_ms", "total_ms")]')" \
    "[4, 89, 89, 89, 89, None, None, 89, 356]"
is "keys of findings" "$(value 'sorted({k for f in d["findings"] for k in f})')" \
    "['evidence', 'fix', 'id', 'model', 'severity', 'title']"
is "what was found" "$(value '[f["id"] for f in d["findings"]]')" \
    "['ep-fallback', 'repeated-load', 'failed-runs', 'slow-first-run', 'cold-start']"
is "drops" "$(value 'd["drops"]')" 0
is "operators" "$(value '[(o["type"], o["count"]) for o in d["models"][1]["operators"]]')" \
    "[('Conv', 40), ('Add', 40), ('Relu', 40)]"

is "the CPU's operators are no host times" "$(value '[m["profiling"]["host_time"] for m in d["models"]]')" "[False, False, False]"

# Operators of a provider that hands them to a device and goes on.
"$REPORT_TRACES" gpu "$T/gpu.ifg"
contains "host times are labelled" "$("$INFEROGRAM" report "$T/gpu.ifg")" \
    "Top operators (8 inferences; host time; the device is not recorded)  Conv 67 % · Relu 33 %"
is "as a field, too" "$("$INFEROGRAM" report "$T/gpu.ifg" --json | python3 -c 'import json, sys
print([m["profiling"]["host_time"] for m in json.load(sys.stdin)["models"]])')" "[True]"
"$INFEROGRAM" info "$T/gpu.ifg" >"$T/info.txt"
matches "info has them by themselves, marked" "$(grep -A 1 '^Operators ' "$T/info.txt" | tail -n 1)" '^  conv \* '
contains "and says what that mark means" "$(cat "$T/info.txt")" "* host time; the device is not recorded"
"$INFEROGRAM" diff --all "$T/gpu.ifg" "$T/gpu.ifg" >"$T/diff.txt"
matches "a comparison marks them" "$(cat "$T/diff.txt")" 'op conv \*'
contains "and says what the mark means" "$(cat "$T/diff.txt")" "* host time; the device is not recorded"
is "a comparison has the field" "$("$INFEROGRAM" diff "$T/gpu.ifg" "$T/gpu.ifg" --json | python3 -c 'import json, sys
print(sorted((r["name"], r["host_time"]) for r in json.load(sys.stdin)["rows"]))')" \
    "[('conv', True), ('inference', False), ('load', False), ('relu', True)]"

# The events of findings are what SQL calls id.
ids=$(value '",".join(str(e) for f in d["findings"] if f["id"] == "repeated-load" for e in f["evidence"]["events"])')
is "events are ids of slices" \
    "$("$INFEROGRAM" query "$T/showcase.ifg" --csv "select count(*), min(category), max(category), min(model) from slice where id in ($ids)" | tail -n 1 | tr -d '\r')" \
    "4,load,load,det"
id=$(value '[f["evidence"]["events"][0] for f in d["findings"] if f["id"] == "failed-runs"][0]')
is "also those of other threads" \
    "$("$INFEROGRAM" query "$T/showcase.ifg" --csv "select value from attribute where slice = $id and key = 'status'" | tail -n 1 | grep -c bad)" 1

exits "many models" 0 "$INFEROGRAM" report "$T/many.ifg"
contains "the rest in a line" "$(cat "$T/stdout")" "and 20 more: 20 inferences, 310 ms in all; --limit 0 shows them"
contains "one sentence for all" "$(cat "$T/stdout")" "The same holds for 29 more models."
contains "findings of one kind are not repeated without end" "$(cat "$T/stdout")" "and 27 more of the same kinds"
exits "all of them" 0 "$INFEROGRAM" report "$T/many.ifg" --limit 0
is "are shown" "$(grep -c '· main' "$T/stdout")" 30
exits "three of them" 0 "$INFEROGRAM" report "$T/many.ifg" --limit 3 --json
cp "$T/stdout" "$T/report.json"
is "in JSON too" "$(value 'len(d["models"]), len(d["findings"])')" "(3, 30)"

exits "no model" 0 "$INFEROGRAM" report "$T/plain.ifg"
contains "says so" "$(cat "$T/stdout")" "This recording contains no model."
matches "and shows what there is" "$(cat "$T/stdout")" '^    decode +120 '
is "in 100 columns" "$(LC_ALL=C.UTF-8 grep -E '.{101}' "$T/stdout" | grep -v inferogram)" ""
exits "no model, in JSON" 0 "$INFEROGRAM" report "$T/plain.ifg" --json
cp "$T/stdout" "$T/report.json"
is "has none" "$(value 'd["models"], d["findings"]')" "([], [])"
exits "nothing at all" 0 "$INFEROGRAM" report "$T/empty.ifg"
contains "is said" "$(cat "$T/stdout")" "It contains no zones either."

exits "odd texts" 0 "$INFEROGRAM" report "$T/odd.ifg"
lacks "do not reach the terminal" "$(cat "$T/stdout")" "$(printf '\033')"
exits "nor harm JSON" 0 "$INFEROGRAM" report "$T/odd.ifg" --json
cp "$T/stdout" "$T/report.json"
is "which parses" "$(value 'd["schema"]')" 1

exits "no file" 2 "$INFEROGRAM" report
contains "asks for one" "$(cat "$T/stderr")" "which trace?"
exits "two files" 2 "$INFEROGRAM" report a b
exits "a file that is not there" 2 "$INFEROGRAM" report "$T/none.ifg"
contains "is named" "$(cat "$T/stderr")" "none.ifg"
exits "a limit that is none" 2 "$INFEROGRAM" report "$T/plain.ifg" --limit x
exits "no HTML" 2 "$INFEROGRAM" report "$T/plain.ifg" --html
head -c "$(($(wc -c <"$T/showcase.ifg") / 2))" "$T/showcase.ifg" >"$T/cut.ifg"
exits "a cut trace" 0 "$INFEROGRAM" report "$T/cut.ifg"
contains "says that it is not whole" "$(cat "$T/stderr")" "not finished"
exits "the golden trace" 0 "$INFEROGRAM" report "$SOURCE_DIR/tests/golden/v1.0.ifg"
exits "a full disk" 1 sh -c "'$INFEROGRAM' report '$T/showcase.ifg' >/dev/full"

# Every rule is described, and nothing else is.
sed -n 's/^    { "\([a-z-]*\)", rule_.*/\1/p' "$SOURCE_DIR/src/analyze/findings/findings.c" | sort >"$T/rules"
ok "there are rules" test "$(wc -l <"$T/rules")" -ge 16
sed -n 's/^## //p' "$SOURCE_DIR/docs/findings.md" | sort >"$T/sections"
ok "each has its section in docs/findings.md" diff "$T/rules" "$T/sections"
sed -n '/^# RULES/,/^# EXIT/s/^\*\([a-z-]*\)\*$/\1/p' "$SOURCE_DIR/man/inferogram-report.1.scd" | sort >"$T/in_page"
ok "and is in the man page" diff "$T/rules" "$T/in_page"

# On a terminal: bold and colours; not with NO_COLOR.
terminal() {
    python3 -c 'import os, pty, sys
pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536))' "$INFEROGRAM" report "$T/showcase.ifg" </dev/null
}
contains "colours on a terminal" "$(NO_COLOR='' terminal)" "$(printf '\033[1;31m!\033[0m')"
lacks "none with NO_COLOR" "$(NO_COLOR=1 terminal)" "$(printf '\033')"

ok "a large trace" "$REPORT_TRACES" large "$T/large.ifg" 2
exits "in time" 0 timeout 60 "$INFEROGRAM" report "$T/large.ifg"
matches "is counted" "$(cat "$T/stdout")" '^    inference +200000 '
done_testing
