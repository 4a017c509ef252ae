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
app=start-$$
cp "$PROGRAMS/ort_app" "$app"
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
        "$INFEROGRAM" record -f -o "$trace" --no-sample --hook uprobe -- "./$app" --ort "$2" --runs 3 --model "$relu" >/dev/null 2>stderr
        if [ "$(events)" = "$all" ]; then complete=$((complete + 1)); else others="$others$(events); "; fi
    done
    printf '%s%s' "$complete" "${others:+: $others}"
}
waited() {
    complete=0
    others=
    for _ in $(seq "$1"); do
        : >recorder.err
        spawn "$INFEROGRAM" record -f -o "$trace" --no-sample --next --name "$app" --timeout 60 2>recorder.err
        recorder=$spawned
        until_true 60 grep -q "waiting for" recorder.err
        "./$app" --ort "$2" --runs 3 --model "$relu" >/dev/null
        wait "$recorder"
        if [ "$(events)" = "$all" ]; then complete=$((complete + 1)); else others="$others$(events); "; fi
    done
    printf '%s%s' "$complete" "${others:+: $others}"
}
is "launched: every program is complete" "$(launched 5 "$(ort 1.20.1)")" 5
is "launched: nothing is said to be missing" "$(instrument 'first calls')" ""
is "launched, a library with another name" "$(launched 2 "$T/libworker.so")" 2
is "waited for: every program is complete" "$(waited 5 "$(ort 1.20.1)")" 5
is "waited for: nothing is said to be missing" "$(instrument 'first calls')" ""
is "waited for, a library with another name" "$(waited 2 "$T/libworker.so")" 2

# ---- a runtime that was linked into the program ---------------------------------------------------------
# shellcheck disable=SC2086 # the compiler may be two words
$CC -O1 -D_GNU_SOURCE -I"$SOURCE_DIR"/src -DORT_INSIDE -fvisibility=hidden -o inside "$SOURCE_DIR"/tests/programs/ort_app.c \
    "$SOURCE_DIR"/tests/programs/ort_linked.c "$SOURCE_DIR"/tests/programs/ort_unknown.c -lpthread || exit 99
# inside COUNT WITHIN [COMMAND]...: how many of so many recordings had everything, how many of the others said that they
# may not have, and then what the rest had. WITHIN: what starts the program; COMMAND: what starts the recorder.
inside() {
    complete=0
    said=0
    others=
    number=$1
    within=$2
    shift 2
    for _ in $(seq "$number"); do
        # shellcheck disable=SC2086 # words
        "$@" "$INFEROGRAM" record -q -f -o "$trace" --no-sample --hook uprobe -- $within ./inside --ort inside --runs 3 --model none.onnx \
            >program.out 2>stderr
        grep -q 'runs 3 ok 3 failed 0' program.out || others="${others}the program: $(cat program.out); "
        if [ "$(events)" = "$all" ]; then
            complete=$((complete + 1))
        elif [ -n "$(instrument 'first calls')" ]; then
            said=$((said + 1))
        else
            others="$others$(events); "
        fi
    done
    printf '%s and %s%s' "$complete" "$said" "${others:+: $others}"
}
# complete_or_said NAME COUNT WITHIN [COMMAND]...
complete_or_said() {
    name=$1
    shift
    found=$(inside "$@")
    note "$name: $found"
    case $found in
    *:*) fail "$name: complete, or said" "$found" ;;
    *) pass "$name: complete, or said" ;;
    esac
}
is "linked in: every program is complete" "$(inside 3 "")" "3 and 0"
is "linked in: nothing is said to be missing" "$(instrument 'first calls')" ""

# ---- where it can be too late, that is said -------------------------------------------------------------
if setpriv --bounding-set -sys_nice true 2>/dev/null; then
    complete_or_said "no right to a real-time priority" 4 "" setpriv --bounding-set -sys_nice
    complete_or_said "nor behind another program" 2 "env A=b" setpriv --bounding-set -sys_nice
else
    skip "no right to a real-time priority" "tools: no setpriv"
fi
if strace -o /dev/null true 2>/dev/null; then
    complete_or_said "in a debugger" 3 "strace -e trace=none -o /dev/null"
else
    skip "in a debugger" "tools: no strace"
fi

# ---- a child of a shell, and whoever it is, goes on as if nobody had held it ----------------------------
cat >child.sh <<'EOS'
"./$3" --ort "$1" --runs 3 --model "$2" >child.out & child=$!
wait "$child"
echo "status $?"
grep TracerPid /proc/self/status
EOS
"$INFEROGRAM" record -f -o "$trace" --hook uprobe -- sh child.sh "$(ort 1.20.1)" "$relu" "$app" >shell.out 2>stderr
is "a child: complete" "$(events)" "$all"
is "a child: its parent saw it end, and nothing else" "$(cat shell.out)" "$(printf 'status 0\nTracerPid:\t0')"
for pid in $busy; do tap_end_process "$pid"; done

# ---- a recorder that does not get on while it holds somebody --------------------------------------------
# slow_recorder: waits for the program, and takes 20 s for its first probe. Its number is in $recorder.
slow_recorder() {
    : >recorder.err
    : >strace.err
    spawn "$INFEROGRAM" record -f -o "$trace" --no-sample --next --name "$app" --timeout 60 2>recorder.err
    recorder=$spawned
    until_true 60 grep -q "waiting for" recorder.err
    # It stops the recorder at every system call: on a busy machine it must get its turn as soon as the recorder does,
    # which holds programs in threads of a real-time priority.
    spawn chrt -r 2 strace -f -o /dev/null -e trace=bpf,perf_event_open -e inject=bpf,perf_event_open:delay_enter=20000000:when=1 \
        -p "$recorder" 2>strace.err
    strace=$spawned
    until_true 60 grep -q attached strace.err
}
held() { grep -q 'TracerPid:.[1-9]' "/proc/$1/status"; }
free() { grep -q 'TracerPid:.0' "/proc/$1/status"; }
threads() { test "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge "$2"; }
if strace -o /dev/null -e inject=bpf:delay_enter=1:when=1 true 2>/dev/null; then
    slow_recorder
    spawn "./$app" --ort "$(ort 1.20.1)" --runs 3 --model "$relu" >held.out
    program=$spawned
    ok "the recorder is killed: it held somebody" until_true 60 held "$program"
    kill -KILL "$recorder"
    wait "$program"
    is "the recorder is killed: who was held goes on" "$? $(sed -n 2p held.out | cut -d ' ' -f 1-6)" "0 runs 3 ok 3 failed 0"
    wait "$strace" "$recorder"
    slow_recorder
    spawn "./$app" --ort "$(ort 1.20.1)" --runs 1000000 --pause-us 5000 --intra 3 --model "$relu" >held.out
    program=$spawned
    ok "the recorder is slow: it held somebody" until_true 60 held "$program"
    ok "the recorder is slow: who was held goes on" until_true 15 free "$program"
    # Its session, which has threads, is what the recorder is to miss.
    ok "the recorder is slow: and has its session before the recorder gets on" until_true 60 threads "$program" 3
    tap_end_process "$strace" # and with it the delay
    ok "the recorder is slow: and records it" until_true 60 grep -q "recording $app" recorder.err
    kill "$program"
    wait "$recorder"
    ok "the recorder is slow: what may be missing is said" test -n "$(instrument 'first calls')"
else
    skip "a recorder that does not get on" "tools: no strace"
fi

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
    skip "a fork" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
