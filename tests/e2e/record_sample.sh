#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --sample: a real program whose hot function is known, however its library got into it, launched and attached;
# and a real model in node.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "samples: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi

"$INFEROGRAM" record --sample=1 -f -o none.ifg -- true 2>stderr
contains "a program that is over at once has no samples" "$(cat stderr)" "no call stacks: at 1 a second of CPU time, none was due"
contains "info is next" "$(cat stderr)" "next: inferogram info none.ifg"
"$INFEROGRAM" record --sample=997 -f -o some.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" plain >stdout 2>stderr
contains "functions are next where there is no model" "$(cat stderr)" "next: inferogram stats some.ifg --by function"
matches "as report says" "$("$INFEROGRAM" report some.ifg)" '^Next +inferogram stats some.ifg --by function$'

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

# A library of our own: other tests use the one that was built.
cp "$SAMPLE_WORK" work.so
for mode in plain deleted memfd; do
    exits "$mode: the program's own status" 7 "$INFEROGRAM" record -q --sample=997 -f -o "$mode.ifg" -- "$SAMPLE_TARGET" "$T/work.so" "$mode"
    is "$mode: the program's own output" "$(cat "$T/stdout")" "done"
    share=$(hot_share "$mode.ifg")
    note "$mode: $share % of $(fact "$mode.ifg" samples.count) samples in the hot function"
    ok "$mode: most samples are in the hot function, by name" test "$share" -ge 60
    rooted=$(fact "$mode.ifg" samples.rooted)
    ok "$mode: stacks reach the root" test "$((rooted * 100))" -ge "$(($(fact "$mode.ifg" samples.count) * 95))"
done

# On another machine: the trace alone.
rm work.so
exits "annotate without the binaries" 0 "$INFEROGRAM" annotate deleted.ifg hot_in_library
cp stdout annotated
ok "annotate shows instructions" grep -qE '(imul|lea|add|mov) ' annotated
ok "annotate shows percentages" grep -qE '[0-9]+(\.[0-9]+)? ?%' annotated

exits "a thousand short threads" 7 "$INFEROGRAM" record -q --sample -f -o threads.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" threads
is "a thousand short threads: output" "$(cat "$T/stdout")" "done"

"$SAMPLE_TARGET" "$SAMPLE_WORK" wait >ready &
target=$!
until_true 60 grep -q ready ready
ok "attached: recorded" "$INFEROGRAM" record -q --sample=997 --duration 1 -f -o attached.ifg --pid "$target"
share=$(hot_share attached.ifg)
ok "attached: most samples are in the hot function ($share %)" test "$share" -ge 60
kill -TERM "$target"
wait "$target"
is "attached: the program ends as ever" "$?" 7

# Workers that the process which is attached to has already.
# shellcheck disable=SC2016 # for that shell
spawn sh -c 'for i in 1 2; do "$1" "$2" wait >worker.$i & echo $!; done >worker.pids; wait' sh "$SAMPLE_TARGET" "$SAMPLE_WORK"
parent=$spawned
until_true 60 grep -q ready worker.1
until_true 60 grep -q ready worker.2
ok "workers that run already: recorded" "$INFEROGRAM" record -q --sample=499 --duration 1 -f -o workers.ifg --pid "$parent"
share=$(hot_share workers.ifg)
ok "workers that run already: most samples are in the hot function ($share %)" test "$share" -ge 60
is "workers that run already: samples of both" \
    "$("$INFEROGRAM" query workers.ifg "SELECT count(DISTINCT process) FROM sample" --csv | tail -n 1 | tr -d '\r')" 2
# shellcheck disable=SC2046 # two words
kill -TERM $(cat worker.pids)
wait "$parent"

# A real model, whose hottest code has no description, launched and attached. A probe that waits for a function to return
# has taken its return address from the stack.
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
rooted_share() { echo "$(($(fact "$1" samples.rooted) * 100 / $(fact "$1" samples.count)))"; }
if sanitized; then
    skip "a real model" "a sanitized library cannot be preloaded into other programs"
elif ! command -v node >/dev/null; then
    skip "a real model" "tools: no node on this machine"
elif ! have ocr || ! have ort-node-1.30.0; then
    skip "a real model" "runtimes: $(tail -n 1 "$T/fetch")"
else
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    model=$(cached ocr)/ch_PP-OCRv4_det_infer.onnx
    ok "a real model: recorded" "$INFEROGRAM" record -q --sample=499 -f -o model.ifg -- node "$SOURCE_DIR/tests/runtimes/detect.js" "$model" 60
    share=$(rooted_share model.ifg)
    ok "a real model: stacks reach the root ($share %)" test "$share" -ge 95
    node "$SOURCE_DIR/tests/runtimes/detect.js" "$model" 100000 &
    target=$!
    until_true 60 grep -q libonnxruntime "/proc/$target/maps"
    ok "a real model, attached: recorded" "$INFEROGRAM" record -q --sample=499 --duration 1.5 -f -o attached-model.ifg --pid "$target"
    kill -TERM "$target"
    wait "$target"
    if "$INFEROGRAM" info attached-model.ifg | tr -s ' \n' ' ' | grep -q 'attached by uprobes'; then
        share=$(rooted_share attached-model.ifg)
        ok "a real model, attached: stacks reach the root behind probes ($share %)" test "$share" -ge 85
    else
        skip "a real model, attached: behind probes" "probes: no probes here (root is needed)"
    fi
fi

# Another user than root samples what is his.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$T"
    mkdir -m 777 other
    setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" record -q --sample=499 -f -o other/own.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" plain >/dev/null
    is "an ordinary user: the program's own status" "$?" 7
    share=$(hot_share other/own.ifg)
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
        ok "an ordinary user: his own program is sampled ($share %)" test "$share" -ge 60
    else
        skip "an ordinary user" "kernel.perf_event_paranoid is above 2"
    fi
fi
done_testing
