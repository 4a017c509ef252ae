#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs in a pid namespace of their own, as containers have it: nothing of theirs is lost, and they have the numbers
# by which they are known out here.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
unshare -Urpf --mount-proc true 2>"$T/unshare" || skip_all "namespaces: $(cat "$T/unshare")"
need ort-node-1.20.1
app=$PROGRAMS/ort_app
cd "$T" || exit 1

# runs NAME COUNT COMMAND...: how many of the recordings have one load and three inferences of this process.
runs() {
    runs_name=$1
    runs_wanted=$2
    shift 2
    good=0
    for i in $(seq "$runs_wanted"); do
        "$INFEROGRAM" record -q -f -o "$trace" -- "$@" "$app" --ort "$(ort 1.20.1)" --model "$models/chain.onnx" --runs 3 \
            >app.out 2>err || fail "$runs_name: recording $i" "$(cat err)"
        got=$(rows "SELECT category, count(*) FROM ml_event WHERE category IN ('load', 'inference') GROUP BY 1 ORDER BY 1" |
            tr '\n' ' ')
        program=$(rows "SELECT DISTINCT p.name FROM ml_event e JOIN process p ON p.pid = e.process")
        if [ "$got $program" = "inference,3 load,1  ort_app" ]; then
            good=$((good + 1))
        else
            note "$i: $got$program"
        fi
    done
    is "$runs_name: all of it in each of $runs_wanted" "$good" "$runs_wanted"
}
runs "a pid namespace" 20 unshare -pf
runs "with a /proc and a user of its own" 20 unshare -Urpf --mount-proc
# shellcheck disable=SC2016 # for that shell
runs "a child of a shell in it" 5 unshare -Urpf --mount-proc sh -c '"$@"; exit $?' sh
# shellcheck disable=SC2016 # for that shell: its parent is the recorder, which sees nothing until the program is gone
runs "gone before anybody looked" 3 sh -c 'kill -STOP $PPID; unshare -pf "$@"; kill -CONT $PPID' sh

# Threads are those that were sampled.
"$INFEROGRAM" record -q -f -o "$trace" --sample=500 -- unshare -pf "$app" --ort "$(ort 1.20.1)" --model "$models/chain.onnx" \
    --runs 3000 >app.out 2>err
matches "samples lie in the threads of the inferences" "$(rows "SELECT count(*) FROM sample WHERE thread IN
    (SELECT DISTINCT thread FROM ml_event WHERE category = 'inference')")" '^[1-9]'
done_testing
