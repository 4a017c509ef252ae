#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --sample: a real program whose hot function is known, however its library got into it, launched and attached;
# and a real model in node.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "no samples here: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi

fact() { # FILE KEY
    "$INFEROGRAM" query "$1" "SELECT value FROM fact WHERE key = '$2'" --csv | tail -1 | tr -d '\r'
}

# Of all samples, how many percent are in the hot function itself.
hot_share() {
    "$INFEROGRAM" stats "$1" --by function --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
all = sum(row["self"] for row in rows)
print(round(100 * sum(row["self"] for row in rows if row["name"] == "hot_in_library") / all) if all else 0)'
}

for mode in plain deleted memfd; do
    exits "$mode: the program's own status" 7 "$INFEROGRAM" record -q --sample=997 -f -o "$mode.ifg" -- "$SAMPLE_TARGET" "$SAMPLE_WORK" "$mode"
    is "$mode: the program's own output" "$(cat "$T/stdout")" "done"
    share=$(hot_share "$mode.ifg")
    note "$mode: $share % of $(fact "$mode.ifg" samples.count) samples in the hot function"
    ok "$mode: most samples are in the hot function, by name" test "$share" -ge 80
    rooted=$(fact "$mode.ifg" samples.rooted)
    ok "$mode: stacks reach the root" test "$((rooted * 100))" -ge "$(($(fact "$mode.ifg" samples.count) * 95))"
done

# On another machine: the trace alone.
mv "$SAMPLE_WORK" "$SAMPLE_WORK.away"
"$INFEROGRAM" annotate deleted.ifg hot_in_library >annotated 2>stderr
status=$?
mv "$SAMPLE_WORK.away" "$SAMPLE_WORK"
is "annotate without the binaries" "$status" 0
ok "annotate shows instructions" grep -qE '(imul|lea|add|mov) ' annotated
ok "annotate shows percentages" grep -qE '[0-9]+(\.[0-9]+)? ?%' annotated

exits "a thousand short threads" 7 "$INFEROGRAM" record -q --sample -f -o threads.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" threads
is "a thousand short threads: output" "$(cat "$T/stdout")" "done"

"$SAMPLE_TARGET" "$SAMPLE_WORK" wait >ready &
target=$!
until_true 10 grep -q ready ready
ok "attached: recorded" "$INFEROGRAM" record -q --sample=997 --duration 1 -f -o attached.ifg --pid "$target"
share=$(hot_share attached.ifg)
ok "attached: most samples are in the hot function ($share %)" test "$share" -ge 80
kill -TERM "$target"
wait "$target"
is "attached: the program ends as ever" "$?" 7

# Another user than root samples what is his.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$T"
    mkdir -m 777 other
    setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" record -q --sample=499 -f -o other/own.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" plain >/dev/null
    is "an ordinary user: the program's own status" "$?" 7
    share=$(hot_share other/own.ifg)
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
        ok "an ordinary user: his own program is sampled ($share %)" test "$share" -ge 80
    else
        skip "an ordinary user" "kernel.perf_event_paranoid is above 2"
    fi
fi
done_testing
