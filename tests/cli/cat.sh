#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram cat, summary and explain: every record is there once, lines are JSON with a type, rules have their text.
. "$TAP_SH"

"$REPORT_TRACES" showcase "$T/t.ifg"
trace=$T/t.ifg
value() { python3 -c 'import json,sys; d=[json.loads(l) for l in open(sys.argv[1])]; print(eval(sys.argv[2]))' "$T/lines" "$1"; }
count() { "$INFEROGRAM" query "$trace" "SELECT count(*) FROM $1" --csv | tail -n 1 | tr -d '\r'; }

exits "cat" 0 "$INFEROGRAM" cat "$trace"
cp "$T/stdout" "$T/lines"
is "each line has a type" "$(value 'all("type" in x for x in d)')" True
for pair in slice:slice process:process thread:thread model:model message:message counter:counter; do
    is "as many ${pair#*:} lines as rows" "$(value "sum(x['type'] == '${pair%:*}' for x in d)")" "$(count "${pair#*:}")"
done
is "slices are those of the table" "$(value 'sum(x["dur_ns"] for x in d if x["type"] == "slice")')" \
    "$("$INFEROGRAM" query "$trace" "SELECT sum(dur_ns) FROM slice" --csv | tail -n 1 | tr -d '\r')"
is "and attributes too" "$(value 'sum(len(x.get("attributes", {})) for x in d if x["type"] == "slice")')" "$(count attribute)"
exits "some types" 0 "$INFEROGRAM" cat "$trace" --type process,thread
cp "$T/stdout" "$T/lines"
is "only those" "$(value 'sorted({x["type"] for x in d})')" "['process', 'thread']"
exits "clocks" 0 "$INFEROGRAM" cat "$SOURCE_DIR/tests/golden/v1.2.ifg" --type clock,thread,slice
cp "$T/stdout" "$T/lines"
is "each thread names its own" "$(value '[x["clock"] for x in d if x["type"] == "thread"]')" "[0, 3]"
is "which are there" "$(value '[(x["id"], x["kind"], x["pairs"]) for x in d if x["type"] == "clock" and x["pairs"]]')" \
    "[(0, 'tsc', 3), (3, 'device', 3)]"
is "and put their slices at the same moment" "$(value '[x["start_ns"] for x in d if x["type"] == "slice"]')" "[0, 0]"
exits "a type that is none" 2 "$INFEROGRAM" cat "$trace" --type zebra
exits "no file" 2 "$INFEROGRAM" cat

exits "summary" 0 "$INFEROGRAM" summary "$trace"
matches "has a line for a model" "$(cat "$T/stdout")" '^  det: CPU .*[0-9]+ inferences, median'
contains "and one for a finding" "$(cat "$T/stdout")" "ep-fallback: "
exits "summary --json" 0 "$INFEROGRAM" summary "$trace" --json
cp "$T/stdout" "$T/lines"
is "types" "$(value 'sorted({x["type"] for x in d})')" "['finding', 'model', 'sentence', 'summary']"

exits "explain" 0 "$INFEROGRAM" explain "$trace"
contains "has the evidence" "$(cat "$T/stdout")" "asked for: "
contains "and the meaning" "$(cat "$T/stdout")" "Means: an execution provider was requested"
exits "explain --json" 0 "$INFEROGRAM" explain "$trace" --json
cp "$T/stdout" "$T/lines"
"$INFEROGRAM" report "$trace" --json >"$T/report.json"
is "the findings of the report" "$(value '[x["id"] for x in d]')" \
    "$(python3 -c 'import json,sys; print([f["id"] for f in json.load(open(sys.argv[1]))["findings"]])' "$T/report.json")"
exits "one finding" 0 "$INFEROGRAM" explain "$trace" ep-fallback
lacks "and no other" "$(cat "$T/stdout")" "noisy"
exits "a rule without a trace" 0 "$INFEROGRAM" explain memory-growth
contains "its text" "$(cat "$T/stdout")" "When: "
exits "no such finding" 2 "$INFEROGRAM" explain "$trace" zebra
# Every rule has a text.
sed -n 's/^## \([a-z-]*\)$/\1/p' "$SOURCE_DIR/docs/findings.md" >"$T/rules"
while read -r rule; do
    exits "explain $rule" 0 "$INFEROGRAM" explain "$rule"
done <"$T/rules"
done_testing
