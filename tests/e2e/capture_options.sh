#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options of `record` that `capture` has, too: what is recorded there, for how long and how much.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
trace=$T/run.ifg
state_of() { json "${2:-$trace}" "[i['state'] for i in d['instruments'] if i['name'] == '$1']"; }

ticker -s 3000
pid=$(sed -n 's/^ready //p' "$T/ticker.out")
# shellcheck disable=SC2119 # without options
agent

# ---- how long, how much ----------------------------------------------------------------------------
ok "--max-size ends it" capture --pid "$pid" --no-sample --resources=50 --max-size 20k
contains "and it is told" "$(cat "$T/stderr")" "the trace had reached the size of --max-size"
is "the trace is finished" "$(json "$trace" "d['file']['finished']")" True
is "and not much larger" "$(json "$trace" "20000 <= d['file']['bytes'] < 200000")" True
is "resources at this rate" "$(json "$trace" "[i['reason'].split(';')[0] for i in d['instruments'] if i['name'] == 'resources']")" "['50 Hz']"
asked=$(python3 -c 'import time; print(time.monotonic_ns())')
ok "--delay, --duration" capture --pid "$pid" --no-sample --delay 0.3s --duration 2s
first=$("$INFEROGRAM" query "$trace" --csv "SELECT min(start_ns) + begin_monotonic_ns FROM slice, trace_info" | tr -d "\r" | sed 1d)
ok "what was before is not there" test "$first" -ge $((asked + 300000000))
rm -f "$trace"
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" --reconnect 0 --delay 10m -o "$trace" 2>"$T/delay.err"
capture=$spawned
has_recorder() { [ -n "$(recorders "$agent")" ]; }
until_true 60 has_recorder
kill -KILL "$capture"
until_true 60 no_recorders "$agent"
is "who is killed before the delay is over is not waited for" "$(recorders "$agent")" ""
exits "--next --timeout" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --next --name nobody-at-all --timeout 10ms -o "$T/none.ifg"
is "and no file" "$(ls "$T/none.ifg" 2>/dev/null)" ""

# ---- what ------------------------------------------------------------------------------------------
"$INFEROGRAM" record -q -f -o "$T/here.ifg" --sample=200 --sched --pid "$pid" --duration 0.2 2>"$T/here.err"
here=$(state_of samples "$T/here.ifg" && state_of wakers "$T/here.ifg" && json "$T/here.ifg" "d['sampling'] and d['sampling']['hz']")
ok "--sample, --sched, --no-args, --no-resources" capture --sample=200 --sched --no-args --no-resources --pid "$pid" -s 0.2
is "as record has them here" "$(state_of samples && state_of wakers && json "$trace" "d['sampling'] and d['sampling']['hz']")" "$here"
is "no arguments but the name" "$(json "$trace" "[p['arguments'] for p in d['processes']]")" "['$REC_TICKER']"
is "no resources" "$(state_of resources)" "['off']"
ok "--memory, --no-sample" capture --memory --no-sample --pid "$pid" -s 0.2
is "no samples" "$(state_of samples)" "['off']"
is "memory every 10 ms" "$(json "$trace" "'memory.looks' in d['facts']")" True

# ---- what is not for others ------------------------------------------------------------------------
for option in --lossless --hook=inject --probe=x --redact=x --path=/bin/true --capture-inputs=1; do
    exits "capture has no $option" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" "$option" --pid "$pid" -o "$T/none.ifg"
done
exits "a rate that is none" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --sample=10001 -o "$T/none.ifg"
exits "--timeout without --next" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --timeout 1 -o "$T/none.ifg"

# ---- an agent that does not know them --------------------------------------------------------------
for options in --sched -s1; do
    other=$(free_port)
    : >"$T/other.out"
    spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" old "$other" >"$T/other.out"
    old=$spawned
    until_true 60 grep -q ready "$T/other.out"
    if [ "$options" = --sched ]; then
        exits "an agent of version 1.0" 5 "$INFEROGRAM" capture -a 127.0.0.1 -p "$other" --sched -o "$T/none.ifg"
        contains "both are named" "$(cat "$T/stderr")" "speaks version 1.0 of the protocol, and some of these options need version 1.1"
        until_true 60 not_alive "$old"
        is "it was asked for nothing" "$(sed 1d "$T/other.out")" closed
    else
        spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$other" -s 1 -o "$T/none.ifg" 2>"$T/old.err"
        until_true 60 grep -q got "$T/other.out"
        ok "but for what it knows" grep -q got "$T/other.out"
        kill "$old"
        ended "$spawned"
        ok "what does not answer is given up" test "$status" -ne 0
    fi
done
done_testing
