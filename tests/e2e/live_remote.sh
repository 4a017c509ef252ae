#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# live and serve --live of a process that an agent records: the gauge and the page count what the program did, what is
# temporary goes away, and whoever is killed, the program goes on.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
export TMPDIR
unset IFG_RECORD_OPTIONS
trace=$T/kept.ifg
ls_temporary() { find "$T" -maxdepth 1 -name 'inferogram-live-*'; }
counts_inferences() { grep -q 'inference [1-9]' "$1"; }
# live NAME OPTIONS...: starts one of our agent; its id is in $live. Returns when it has counted something.
live() {
    live_name=$1
    shift
    : >"$live_name.out"
    spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --no-sample "$@" >"$live_name.out" 2>"$live_name.err"
    live=$spawned
    until_true 60 counts_inferences "$live_name.out"
    ok "$live_name: it counts" counts_inferences "$live_name.out"
}
# page FILE: the address in it is in $base, the token in $token.
page() {
    until_true 60 grep -q token= "$1"
    base=$(grep -o 'http[^#]*' "$1")
    token=$(grep -o 'token=[0-9a-f]*' "$1" | cut -d= -f2)
}
get() { curl -s -H "Authorization: Bearer $token" "${base}api/$1"; }
of() { python3 "$SOURCE_DIR/tests/e2e/live_stream.py" "$@"; }
bars_of() { test "$(get live/state | of bars - inference)" -ge "$1"; }
says() { get live/state | grep -q "$1"; }

spawn "$LIVE_EVENTS" 500 600 >events.out
target=$spawned
carries "$target"
# shellcheck disable=SC2119 # without options
agent

# ---- the gauge -------------------------------------------------------------------------------------
live gauge --pid "$target"
kill -INT "$live"
ended "$live"
is "Ctrl-C ends it well" "$status" 0
contains "it tells whose program it is" "$(cat gauge.err)" "recording live_events (pid $target) on 127.0.0.1"
contains "and how it went" "$(cat gauge.err)" "live_events goes on; recorded"
contains "and how to keep the trace" "$(cat gauge.err)" "keep it with -o FILE"
is "the temporary trace is gone" "$(ls_temporary)" ""
until_true 60 no_recorders "$agent"
is "the agent's recorder has ended" "$(recorders "$agent")" ""
ok "the program goes on" tap_alive "$target"
python3 "$SOURCE_DIR/tests/e2e/live_pty.py" "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --no-sample --pid "$target" >screen
is "on a terminal, q ends it" "$(tail -n 1 screen)" "status 0"
ok "the gauge has the whole screen" grep -q "1049l" screen
ok "with the model" grep -q known screen

# ---- exit statuses ---------------------------------------------------------------------------------
there() { "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --no-sample --pid "$target" "$@"; }
: >"$trace"
exits "the file exists" 8 there -o "$trace"
exits "--duration ends it" 0 there --duration 0.5 -f -o "$trace"
is "the kept trace is finished" "$(json "$trace" "d['file']['finished']")" True
exits "no such process" 1 "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --pid 2147483646
exits "nobody listens" 1 "$INFEROGRAM" live -a 127.0.0.1 -p "$(free_port)"
exits "an agent starts no programs" 2 "$INFEROGRAM" live -a 127.0.0.1 -p "$port" -- true
for option in --lossless --hook=inject --redact=x --json --mode=0644; do
    exits "not from afar: $option" 2 there "$option"
    contains "$option is named" "$(cat "$T/stderr")" "${option%=*} is not available for a process of an agent"
done
exits "a port without a host" 2 "$INFEROGRAM" live -p "$port" --pid "$target"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    chmod 755 "$T"
    mkdir theirs
    chown 65534 theirs
    exits "another user is not let in" 4 setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$T/theirs" \
        "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --pid "$target"
    contains "and told what is missing" "$(cat "$T/stderr")" "wants its token"
    is "nothing is left of it" "$(ls theirs)" ""
else
    skip "another user" "root: only root can be somebody else"
fi
is "nothing temporary is left" "$(ls_temporary)" ""

# ---- the page --------------------------------------------------------------------------------------
: >web.out
spawn "$INFEROGRAM" serve --live -q -a "127.0.0.1:$port" --pid "$target" >web.out 2>web.err
live=$spawned
page web.out
until_true 60 bars_of 100
ok "serve --live: the page counts" bars_of 100
contains "of a temporary trace" "$(get live/save)" '"temporary":true'
kill -TERM "$live"
ended "$live"
is "SIGTERM ends it well" "$status" 0
is "and nothing is left" "$(ls_temporary)" ""
exits "serve --live -a has no file" 2 "$INFEROGRAM" serve --live -a "127.0.0.1:$port" x.ifg
exits "serve -a goes with --live" 2 "$INFEROGRAM" serve -a "127.0.0.1:$port"
exits "serve: a fingerprint that is none is not passed over" 2 "$INFEROGRAM" serve --live -a "127.0.0.1:$port" --fingerprint 00
exits "a fingerprint without an agent" 2 "$INFEROGRAM" live --fingerprint 00 --pid "$target"
exits "serve: a port that is none" 2 "$INFEROGRAM" serve --live -a 127.0.0.1:x

# An agent that lies: what it says is part of no path.
other=$(free_port)
: >liar.out
spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" named "$other" "../../etc/x" >liar.out
liar=$spawned
until_true 60 grep -q ready liar.out
: >lied.out
spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$other" --web -q >lied.out 2>lied.err
live=$spawned
page lied.out
contains "the name of a program is no folder" "$(get live/save)" "$T/inferogram-.._.._etc_x-4711-"
kill "$liar"
ended "$live"
is "nothing was recorded" "$status $(ls_temporary)" "7 "

# ---- kills -----------------------------------------------------------------------------------------
live client --pid "$target"
kill -KILL "$live"
until_true 60 no_recorders "$agent"
is "live is killed: the recorder ends" "$(recorders "$agent")" ""
ok "live is killed: the program goes on" tap_alive "$target"
is "its folder stays" "$(ls_temporary | wc -l)" 1

: >lost.out
spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --web --no-sample --pid "$target" >lost.out 2>lost.err
live=$spawned
page lost.out
until_true 60 bars_of 100
is "until the next live of this user" "$(ls_temporary | wc -l)" 1
# The recorder first: without its agent it would finish the trace.
# shellcheck disable=SC2046 # ids
kill -KILL $(recorders "$agent") "$agent"
until_true 60 says '"state":"ended"'
ok "the agent is killed: the page has what there was" bars_of 100
contains "and says why" "$(get live/state)" "the connection was lost"
until_true 60 grep -q "was lost" lost.err
contains "so does the command" "$(cat lost.err)" "the connection to 127.0.0.1, port $port was lost"
until_true 60 grep -q "the page stays until Ctrl-C" lost.err
kill -INT "$live"
ended "$live"
is "and its status" "$status" 7
is "nothing temporary is left" "$(ls_temporary)" ""
ok "the program goes on" tap_alive "$target"

# shellcheck disable=SC2119 # without options
agent
live program --pid "$target" -o "$trace" -f
kill -KILL "$target"
ended "$live"
is "the program is killed: live ends" "$status" 0
contains "it tells" "$(cat program.err)" "live_events ended; recorded"
is "with a whole trace" "$(json "$trace" "d['file']['finished']")" True

# ---- a connection that breaks ----------------------------------------------------------------------
spawn "$LIVE_EVENTS" 500 600 >again.events
target=$spawned
carries "$target"
through=$(free_port)
: >breaking.out
spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" breaking "$through" "$port" 8000 2 >breaking.out
until_true 60 grep -q ready breaking.out
: >again.out
spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$through" --web --no-sample --reconnect 1m --pid "$target" -f -o "$trace" >again.out 2>again.err
live=$spawned
page again.out
is_back() { [ "$(grep -c 'connected again' again.err)" -eq 2 ]; }
until_true 60 is_back
is "--reconnect: it connects again" "$(grep -c 'connected again' again.err)" 2
before=$(get live/state | of bars - inference)
until_true 60 bars_of $((before + 100))
ok "and goes on" bars_of $((before + 100))
is "as one recording, on one page" "$(grep -c "recording live_events" again.err) $(grep -c token= again.out) $(get live/state | grep -o '"generation":[0-9]*')" "1 1 \"generation\":0"
kill -INT "$live"
ended "$live"
is "until Ctrl-C" "$status $(json "$trace" "d['file']['finished'], d['dropped']")" "0 (True, 0)"
kill -KILL "$target"

# ---- another clock ---------------------------------------------------------------------------------
# open_s: for how many seconds the load is open, as the page has it; "none": it is not.
open_s() {
    get live/state | python3 -c 'import json, sys
print(*[round(one["duration"] / 1e9) for one in json.load(sys.stdin).get("open", []) if one["category"] == 2] or ["none"])'
}
is_open() { [ "$(open_s)" != none ]; }
kill "$agent"
port=$(free_port)
: >other.out
spawn unshare --time --monotonic -20 --fork --kill-child "$INFEROGRAM" agent -q --listen "127.0.0.1:$port" >other.out 2>other.err
other=$spawned
# Where that is not possible, it says so at once.
has_begun() { grep -q ":$port" other.out || not_alive "$other"; }
until_true 60 has_begun
if not_alive "$other"; then
    skip "a clock that is behind" "root: no time namespaces here: $(tail -n 1 other.err)"
else
    spawn "$LIVE_EVENTS" 500 0 open enough >open.out
    target=$spawned
    carries "$target"
    : >clock.out
    spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --web -q --no-sample --pid "$target" >clock.out 2>clock.err
    live=$spawned
    page clock.out
    until_true 60 bars_of 1
    ok "a clock that is behind: events count" bars_of 1
    : >enough
    until_true 60 is_open
    # Not longer than the program runs, give or take what a slow machine makes of it.
    open_for=$(open_s)
    since=$(ps -o etimes= -p "$target" | tr -d ' ')
    ok "a clock that is behind: what is open is as old as it is" test "$open_for" -le $((since + 5))
    kill -KILL "$other" "$target"
    kill -INT "$live"
    ended "$live"
fi

# ---- a real runtime --------------------------------------------------------------------------------
if sanitized; then
    skip "a real model" "where no sanitizer looks"
elif [ "$(id -u)" -ne 0 ]; then
    skip "a real model" "root: attaching needs root here"
elif ! have ort-node-1.20.1; then
    skip "a real model" "runtimes: $(tail -n 1 "$T/fetch")"
else
    # shellcheck disable=SC2119 # without options
    agent
    name=live-$$ # other tests run the same program at the same time
    cp "$PROGRAMS/ort_steady" "$name"
    : >real.out
    spawn "$INFEROGRAM" live -a 127.0.0.1 -p "$port" --no-sample --next --name "$name" --ops=1 -f -o "$trace" >real.out 2>real.err
    live=$spawned
    until_true 60 grep -q "waiting for the next process" real.err
    steady real.log "./$name" real.log 500 "$(ort 1.20.1)" "$models/relu.onnx"
    until_true 60 counts_inferences real.out
    until_recorded 20
    settle "$steady"
    ended "$live"
    is "--next: it ends with its program" "$status" 0
    all_there "--next" real.log 20
    is "the gauge has every inference" "$(tail -n 1 real.out | grep -o 'inference [0-9]*')" "inference $(recorded_events)"
    is "and the operators are there" "$(json "$trace" "d['events']['ops'] > 0")" True
    contains "it tells what was watched" "$(cat real.err)" "watched ONNX Runtime 1.20.1"
fi
done_testing
