#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram diff: the same program is the same, a slow zone is found, new and gone names are listed.
. "$TAP_SH"

cd "$T" || exit 99

# One CPU for both of a pair, and both at the same time: whatever else the machine does, it does to both. CPUs of a machine that
# is shared may differ by more than what is looked for.
alone=
if command -v taskset >/dev/null; then
    alone="taskset -c $(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')"
fi
record() { # OUT COMMAND...
    record_out=$1
    shift
    # shellcheck disable=SC2086 # a command
    $alone "$INFEROGRAM" record -f -o "$record_out" --lossless -- "$@" >/dev/null 2>"$record_out.err" ||
        fail "record $*" "$(cat "$record_out.err")"
}
value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
verdict() { value "[r['verdict'] for r in d['rows'] if r['name'] == '$1' and r['kind'] != 'op'][0]" <d.json; }

work=$PROGRAMS/diff_work
record base.ifg "$work" 8000 100 &
record slow.ifg "$work" 8000 130 extra
wait $!
record few.ifg "$work" 12 100

# The same trace twice cannot differ.
# (Where times vary a lot, "the same" cannot be told from "unsure", and a diff of only those ends with 3.)
"$INFEROGRAM" diff base.ifg base.ifg --json >d.json
is "a trace and itself: nothing changed" \
    "$(value 'd["counts"]["SAME"] + d["counts"]["UNSURE"] == len(d["rows"]) > 3' <d.json)" True
is "no change" "$(value 'max(abs(r["change"]) for r in d["rows"])' <d.json)" 0

# A zone with 30 % more to do.
exits "a slow zone" 1 "$INFEROGRAM" diff base.ifg slow.ifg --json
cp stdout d.json
is "schema" "$(value 'd["schema"]' <d.json)" 1
is "the verdict" "$(value 'd["verdict"]' <d.json)" regressed
contains "the label" "$(value 'd["warning"]' <d.json)" "not interleaved"
is "the slow zone" "$(verdict target)" REGRESSED
is "a new name" "$(verdict extra)" NEW
is "a name that is gone" "$(verdict usual)" GONE
is "the interval holds the change, and is about 30 %" \
    "$(value '[r["low"] <= r["change"] <= r["high"] and 0.15 < r["change"] < 0.5 for r in d["rows"] if r["name"] == "target"]' <d.json)" "[True]"
# On a busy machine some other zone may really have been slower: only the target is certain.
"$INFEROGRAM" diff slow.ifg base.ifg --json >d.json
is "the other way round it improved" "$(verdict target)" IMPROVED

exits "as text" 1 "$INFEROGRAM" diff base.ifg slow.ifg
matches "the answer is the first line" "$(head -n 1 stdout)" '^B is slower in [0-9]+ of [0-9]+ locations: .*target \+[0-9.]+ %'
contains "the label" "$(cat stdout)" "not interleaved: two recordings made at different times; treat small changes with care"
matches "rows" "$(cat stdout)" '^  REGRESSED  target .* to .*%'
matches "new" "$(cat stdout)" '^  NEW +extra '
matches "gone" "$(cat stdout)" '^  GONE +usual '
lacks "what is the same is not listed first" "$(head -n 6 stdout)" "SAME"
exits "--all" 1 "$INFEROGRAM" diff base.ifg slow.ifg --all
lacks "then nothing is left over" "$(cat stdout)" "Of the others"
exits "a threshold above the change" 0 "$INFEROGRAM" diff base.ifg slow.ifg --threshold 60

# Too few to tell.
exits "too few occurrences" 3 "$INFEROGRAM" diff base.ifg few.ifg
matches "how many more" "$(cat stdout)" 'UNSURE +steady .*needs 28 more on each side'

# The same program again and again.
slower=0
for round in 1 2 3; do
    record a.ifg "$BUILD_DIR/examples/image_pipeline" 2000 &
    record b.ifg "$BUILD_DIR/examples/image_pipeline" 2000
    wait $!
    "$INFEROGRAM" diff a.ifg b.ifg --json >d.json
    slower=$((slower + $(value 'd["counts"]["REGRESSED"]' <d.json)))
    note "round $round: $(value 'd["counts"]' <d.json)"
done
# Once is bad luck, all over is wrong.
ok "the same program does not regress: $slower of 33 locations" test "$slower" -le 3

# Other programs, and refusals.
exits "another program" 3 "$INFEROGRAM" diff few.ifg a.ifg
contains "that is said" "$(cat stdout)" "different programs: diff_work | image_pipeline"
contains "other models too" "$(cat stdout)" "different models: net | stripes"
exits "a file that is not there" 2 "$INFEROGRAM" diff base.ifg absent.ifg
exits "one file" 2 "$INFEROGRAM" diff base.ifg
exits "three files" 2 "$INFEROGRAM" diff base.ifg slow.ifg few.ifg
exits "a bad threshold" 2 "$INFEROGRAM" diff base.ifg slow.ifg --threshold x
printf 'x' >bad.ifg
exits "no trace" 2 "$INFEROGRAM" diff base.ifg bad.ifg

done_testing
