#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that are watched from outside from their first call on, beside others that want every processor: nothing of
# them is missing, and where something may be, the trace says so.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.20.1
cd "$T" || exit 1
relu=$models/relu.onnx
# By a name of its own: others may run models on this machine, too.
cp "$PROGRAMS/ort_app" "start-app"
# Another name, and nothing in it that says what it is.
cp "$(ort 1.20.1)" "libworker.so"

events() { rows "SELECT category, count(*) FROM ml_event GROUP BY 1 ORDER BY 1" | tr '\n' ' '; }
all="inference,3 load,1 prepare-ep,1 "
busy=
for _ in 1 2 3 4; do
    spawn sh -c 'while :; do :; done'
    busy="$busy $spawned"
done

# launched COUNT LIBRARY: how many of so many recordings had everything, and then what the others had.
launched() {
    complete=0
    others=
    for _ in $(seq "$1"); do
        "$INFEROGRAM" record -f -o "$trace" --no-sample --hook uprobe -- ./start-app --ort "$2" --runs 3 --model "$relu" >/dev/null 2>stderr
        if [ "$(events)" = "$all" ]; then complete=$((complete + 1)); else others="$others$(events); "; fi
    done
    printf '%s%s' "$complete" "${others:+: $others}"
}
waited() {
    complete=0
    others=
    for _ in $(seq "$1"); do
        : >recorder.err
        spawn "$INFEROGRAM" record -f -o "$trace" --no-sample --next --name start-app --timeout 60 2>recorder.err
        recorder=$spawned
        until_true 60 grep -q "waiting for" recorder.err
        ./start-app --ort "$2" --runs 3 --model "$relu" >/dev/null
        wait "$recorder"
        if [ "$(events)" = "$all" ]; then complete=$((complete + 1)); else others="$others$(events); "; fi
    done
    printf '%s%s' "$complete" "${others:+: $others}"
}
is "launched: every program is complete" "$(launched 8 "$(ort 1.20.1)")" 8
is "launched: nothing is said to be missing" "$(instrument 'first calls')" ""
is "launched, a library with another name" "$(launched 3 "$T/libworker.so")" 3
is "waited for: every program is complete" "$(waited 8 "$(ort 1.20.1)")" 8
is "waited for: nothing is said to be missing" "$(instrument 'first calls')" ""
is "waited for, a library with another name" "$(waited 3 "$T/libworker.so")" 3

# ---- a child of a shell, and whoever it is, goes on as if nobody had held it ----------------------------
cat >child.sh <<'EOS'
./start-app --ort "$1" --runs 3 --model "$2" >child.out & child=$!
wait "$child"
echo "status $?"
grep TracerPid /proc/self/status
EOS
"$INFEROGRAM" record -f -o "$trace" --hook uprobe -- sh child.sh "$(ort 1.20.1)" "$relu" >shell.out 2>stderr
is "a child: complete" "$(events)" "$all"
is "a child: its parent saw it end, and nothing else" "$(cat shell.out)" "$(printf 'status 0\nTracerPid:\t0')"
for pid in $busy; do tap_end_process "$pid"; done

# ---- a fork of a program that has its runtime already ---------------------------------------------------
if have python-1.20.1; then
    cat >forks.py <<'EOP'
import os, sys, time
import numpy, onnxruntime
if not os.fork():
    session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
    while not os.path.exists('enough'):
        session.run(None, {'x': numpy.zeros((1, 4), 'float32')})
        time.sleep(0.01)
    os._exit(0)
os.wait()
EOP
    rm -f "$trace"
    spawn "$INFEROGRAM" record -f -o "$trace" --hook uprobe -- "$(cached python-1.20.1)/bin/python" forks.py "$relu" >fork.out 2>&1
    recorder=$spawned
    seen() { test "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" -gt 0; }
    until_true 60 seen
    touch enough
    wait "$recorder"
    matches "a fork: its first calls may be missing, and that is said" "$(instrument 'first calls')" \
        '^unavailable: a process used ONNX Runtime before probes could be set in it'
    contains "a fork: info says it" "$("$INFEROGRAM" info "$trace")" "first calls"
    contains "a fork: report says it" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' ' ')" "not available: first calls"
else
    skip "a fork" "$(tail -n 1 "$T/fetch")"
fi
done_testing
