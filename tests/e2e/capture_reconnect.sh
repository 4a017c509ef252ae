#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A connection that breaks: the capture connects again, and the same recording goes on in the same file. Nothing is there twice,
# nothing is missing that was not counted, and the program does not notice.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
XDG_CONFIG_HOME=$T/config
export XDG_CONFIG_HOME
trace=$T/run.ifg
hostile=$SOURCE_DIR/tests/e2e/capture_hostile.py

breaking() { # BYTES CUTS: a way to the agent that breaks; its port is in $through
    through=$(free_port)
    : >"$T/breaking.out"
    spawn python3 "$hostile" breaking "$through" "$port" "$1" "$2" >"$T/breaking.out"
    breaking=$spawned
    until_true 60 grep -q ready "$T/breaking.out" || fail "a way that breaks"
}
cuts() { grep -c cut "$T/breaking.out"; }
has_cut() { [ "$(cuts)" -ge "$1" ]; }
# What the recorder counted, and the capture told in its file of messages, is what the trace has.
is_whole() {
    counted=$(sed -n 's/.* s: \([0-9]*\) events.*/\1/p' "$2")
    is "$1: the trace is finished" "$(json "$trace" "d['file']['finished']")" True
    is "$1: it has each event once" "$(json "$trace" "d['events']['zones'] == ${counted:-0} > 0")" True
    is "$1: nothing is damaged" "$(json "$trace" "d['file'].get('damaged_blocks', 0)")" 0
    is "$1: nothing was lost" "$(json "$trace" "d['dropped']")" 0
}

# ---- one that breaks and comes back ----------------------------------------------------------------
ticker -s 3000
agent
breaking 20000 4
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$through" --pid "$ticker" -o "$trace" 2>"$T/capture.err"
capture=$spawned
until_true 60 has_cut 4 || fail "the connection breaks four times" "$(cat "$T/capture.err")"
is_back() { [ "$(grep -c 'connected again; the recording goes on' "$T/capture.err")" -eq 4 ]; }
until_true 60 is_back
is "it connects again each time" "$(grep -c 'connected again; the recording goes on' "$T/capture.err")" 4
matches "and tells why" "$(cat "$T/capture.err")" 'was lost: .*; trying again for 30 s'
ok "what has come can be read meanwhile" "$INFEROGRAM" info "$trace"
kill -INT "$capture"
ended "$capture"
is "the recording ends well" "$status" 0
is_whole "after four cuts" "$T/capture.err"
lasted=$(json "$trace" "'%.1f' % ((d['end_ns'] - d['begin_ns']) / 1e9)")
contains "as long as was recorded" "$(cat "$T/capture.err")" "recorded $lasted s"
contains "the agent tells" "$(cat "$T/agent.err")" "a capture is connected again"
until_true 60 no_recorders "$agent"
is "nobody is left" "$(recorders "$agent")" ""
kill "$breaking"
ended "$breaking"

# ---- the program ends while nobody is connected ----------------------------------------------------
spawn "$REC_TICKER" -p -s 3000 >"$T/short.out"
short=$spawned
until_true 60 grep -q ready "$T/short.out"
breaking 6000 1
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$through" --pid "$short" -f -o "$trace" 2>"$T/capture.err"
capture=$spawned
until_true 60 has_cut 1
kill "$short"
ended "$capture"
is "what was recorded until then comes" "$status" 0
is_whole "after the end of the program" "$T/capture.err"
kill "$breaking"
ended "$breaking"

# ---- one that stays away ---------------------------------------------------------------------------
breaking 1000000000 1
rm "$trace"
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$through" --pid "$ticker" --reconnect 1s -f -o "$trace" 2>"$T/capture.err"
capture=$spawned
until_true 60 test -s "$trace"
kill -9 "$breaking"
ended "$capture"
is "it gives up" "$status" 7
contains "and tells" "$(cat "$T/capture.err")" "$trace is complete up to there"
ok "the file can be read" "$INFEROGRAM" info "$trace"
until_true 60 no_recorders "$agent"
is "so does the recorder" "$(recorders "$agent")" ""
ok "the program goes on" tap_alive "$ticker"
capturing --pid "$ticker"
kill -9 "$capture"
is_kept() { grep -q 'its recording is kept for 30 s' "$T/agent.err"; }
until_true 60 is_kept
contains "a capture that was killed is waited for" "$(cat "$T/agent.err")" "its recording is kept for 30 s"
ok "until somebody asks for the same" capture --pid "$ticker" -s 0.3
: >"$T/agent.err"
capturing --pid "$ticker"
kill -9 "$capture"
until_true 60 is_kept
kill "$agent"
ended "$agent"
is "but not by an agent that ends" "$status" 0
agent
is "nobody gets what was never kept" "$(python3 "$hostile" resume "$port")" refused
capturing --pid "$ticker"
kill -9 "$(recorders "$agent")"
ended "$capture"
is "a recorder that was killed does not come back" "$status" 7
kill "$agent"
ended "$agent"

# ---- with TLS --------------------------------------------------------------------------------------
agent --tls --token-file "$T/token"
fingerprint=$(sed -n 's/^fingerprint //p' "$T/agent.out")
breaking 12000 2
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$through" -f -o "$trace" --fingerprint "$fingerprint" --token-file "$T/token" \
    --pid "$ticker" 2>"$T/tls.err"
capture=$spawned
until_true 60 has_cut 2
is_back_again() { [ "$(grep -c 'connected again; the recording goes on' "$T/tls.err")" -eq 2 ]; }
until_true 60 is_back_again
kill -INT "$capture"
ended "$capture"
is "the same with TLS" "$status" 0
is "which broke" "$(cuts)" 2
is_whole "with TLS" "$T/tls.err"

done_testing
