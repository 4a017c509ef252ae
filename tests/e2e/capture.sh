#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram agent and capture: a trace that comes through a connection is the trace that `record` would have
# written; who may connect; what is refused, and with which exit status.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
trace=$T/run.ifg
hostile() { python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" "$@"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# ---- a capture -------------------------------------------------------------------------------------
ticker -s 3000
pid=$(sed -n 's/^ready //p' "$T/ticker.out")
agent
ok "a capture of two seconds" capture --pid "$pid" -s 2
contains "it tells what it records" "$(cat "$T/stderr")" "recording rec_ticker (pid $pid) on 127.0.0.1"
contains "and how it went" "$(cat "$T/stderr")" "0 dropped"
is "the trace is finished" "$(json "$trace" "d['file']['finished']")" True
is "it has the zones" "$(json "$trace" "sum(p['count'] for p in d['locations'] if p['name'] == 'tick') > 100")" True
is "it lasts as long as was asked for" "$(json "$trace" "0 < (d['end_ns'] - d['begin_ns']) / 1e9 < 2.1")" True
is "one clock is not far from itself" "$(json "$trace" \
    "abs(int(d['facts']['capture.clock_offset_ns'])) <= int(d['facts']['capture.clock_error_ns']) < 1e9")" True
matches "and info shows it" "$("$INFEROGRAM" info "$trace")" "the recorded machine's time of day is .* that of the capturing one"
is "nobody else can read it" "$(stat -c %a "$trace")" 600
ok "the program goes on" tap_alive "$ticker"
until_true 60 no_recorders "$agent"
is "the recorder has ended" "$(recorders "$agent")" ""
contains "the agent tells" "$(cat "$T/agent.err")" "captured rec_ticker (pid $pid) for 2.0 s"

# ---- at any moment ---------------------------------------------------------------------------------
capturing --pid "$pid"
has_grown() { [ "$(stat -c %s "$trace")" -gt 4000 ]; }
until_true 60 has_grown
ok "a trace that still grows can be opened" "$INFEROGRAM" info "$trace"
exits "a second capture of the process" 6 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" -o "$T/second.ifg"
contains "it tells who has it" "$(cat "$T/stderr")" "is already being recorded, by process"
is "and leaves no file" "$(ls "$T/second.ifg" 2>/dev/null)" ""
kill -INT "$capture"
ended "$capture"
is "Ctrl-C ends it well" "$status" 0
is "with a trace that is finished" "$(json "$trace" "d['file']['finished']")" True
ok "and the program goes on" tap_alive "$ticker"

# ---- exit statuses ---------------------------------------------------------------------------------
there() { "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" -s 0.2 "$@"; }
exits "the file exists" 8 there -o "$trace"
contains "what to do" "$(cat "$T/stderr")" "replace it with -f"
ok "it is replaced with -f" there -f -o "$trace"
exits "there is no such directory" 9 there -o "$T/nowhere/run.ifg"
exits "no file is given" 2 there
exits "a name that is none" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" -o "$T/none.ifg" --name "$(printf 'a\tb')"
exits "too long a time" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" -o "$T/none.ifg" -s 10000000m
exits "no such process" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid 2147483646 -o "$T/none.ifg"
exits "no process of that name" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --name nobody-at-all -o "$T/none.ifg"
exits "nobody listens" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$(free_port)" -o "$T/none.ifg"
contains "what to do" "$(cat "$T/stderr")" "is 'inferogram agent' running there"
is "no failed capture leaves a file" "$(ls "$T/none.ifg" 2>/dev/null)" ""
(
    ulimit -f 1
    exec "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" -o "$T/full.ifg" 2>"$T/full.err"
)
is "the file cannot grow" "$?" 9
ok "what is there can be read" "$INFEROGRAM" info "$T/full.ifg"
until_true 60 no_recorders "$agent"
is "and the recorder has ended" "$(recorders "$agent")" ""

# ---- versions --------------------------------------------------------------------------------------
is "an older capture is told the version, and leaves" "$(hostile version "$port" 99 | tr '\n' ' ')" "agent 1 closed "
matches "both are named" "$(cat "$T/agent.err")" 'speaks version 99\.0 of the protocol, this agent 1\.[0-9]+$'
other=$(free_port)
spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" agent "$other" 7 >"$T/other.out"
until_true 60 grep -q ready "$T/other.out"
exits "an agent of another version" 5 "$INFEROGRAM" capture -a 127.0.0.1 -p "$other" -o "$T/none.ifg"
matches "both are named" "$(cat "$T/stderr")" 'speaks version 7\.0 of the protocol, and this program version 1\.[0-9]+:'

# ---- a connection that is lost ---------------------------------------------------------------------
other=$(free_port)
spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" forward "$other" "$port" 5000 >"$T/other.out"
until_true 60 grep -q ready "$T/other.out"
exits "the connection is cut in the middle" 7 "$INFEROGRAM" capture -a 127.0.0.1 -p "$other" --reconnect 0 --pid "$pid" -o "$T/cut.ifg"
contains "it is told" "$(cat "$T/stderr")" "$T/cut.ifg is complete up to there"
ok "the trace can be read" "$INFEROGRAM" info "$T/cut.ifg"
is "nothing of it is damaged" "$(json "$T/cut.ifg" "d['file']['damaged_blocks'] if 'damaged_blocks' in d['file'] else 0")" 0
until_true 60 no_recorders "$agent"
is "the recorder has ended" "$(recorders "$agent")" ""
ok "the program goes on" tap_alive "$ticker"

# ---- a reader that does not read -------------------------------------------------------------------
spawn "$REC_TICKER" -p -b -s 300 >"$T/busy.out"
busy=$spawned
until_true 60 grep -q ready "$T/busy.out"
hostile slow "$port" "$busy" 1 >"$T/slow.ifg" 2>"$T/slow.err"
is "a slow reader gets a whole trace in the end" "$(json "$T/slow.ifg" "d['file']['finished']")" True
ok "the program did not wait" tap_alive "$busy"
kill "$busy"

hostile slow "$port" "$pid" 2 >"$T/late.ifg" 2>"$T/slow.err"
is "what is said when all is over loses nothing" "$(json "$T/late.ifg" "d['file']['finished']")" True

# ---- strangers -------------------------------------------------------------------------------------
is "200 connections that say nothing do not keep others out" \
    "$(hostile half-open "$port" 200 | tr '\n' ' ')" "answered closed 200 "
is "garbage is closed" "$(hostile garbage "$port" 40 | tr '\n' ' ')" "closed 40 answered "

# ---- addresses -------------------------------------------------------------------------------------
for address in 0.0.0.0 192.0.2.1 :: 0.0.0.0:8086 "[2001:db8::1]:8086"; do
    exits "no listening on $address" 2 "$INFEROGRAM" agent --listen "$address"
    contains "the way out for $address" "$(cat "$T/stderr")" "ssh -L"
done
exits "a name is no address" 2 "$INFEROGRAM" agent --listen example.org
exits "a port that is none" 2 "$INFEROGRAM" agent --listen 127.0.0.1:0
exits "a port that is taken" 1 "$INFEROGRAM" agent --listen "127.0.0.1:$port"
spawn "$INFEROGRAM" agent >"$T/default.out" 2>"$T/default.err"
default=$spawned
until_true 60 test -s "$T/default.out"
matches "the default is the loopback, from 8086 on" "$(cat "$T/default.out")" '^127\.0\.0\.1:(808[6-9]|809[0-9]|810[0-5])$'
kill "$default"
ended "$default"
is "SIGTERM ends an agent well" "$status" 0

# ---- tokens ----------------------------------------------------------------------------------------
if [ "$(id -u)" -ne 0 ] || ! as_nobody true 2>/dev/null; then
    skip "tokens of other users" "root: only root can be somebody else"
else
    chmod 755 "$T"
    mkdir "$T/theirs"
    chown 65534 "$T/theirs"
    theirs() { as_nobody "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" -s 0.2 -f -o "$T/theirs/run.ifg" "$@"; }
    exits "another user is not let in" 4 theirs
    contains "and told what is missing" "$(cat "$T/stderr")" "wants its token"
    exits "nor does he get a list" 4 as_nobody "$INFEROGRAM" ls -a 127.0.0.1 -p "$port"
    kill "$agent"
    ended "$agent"
    agent --token-file "$T/token"
    is "a token file is for its owner" "$(stat -c %a "$T/token")" 600
    token=$(cat "$T/token")
    lacks "the token is not printed" "$(cat "$T/agent.err" "$T/agent.out")" "$token"
    exits "another user with a wrong token" 4 env IFG_AGENT_TOKEN=00000000000000000000000000000000 setpriv --reuid=65534 \
        --regid=65534 --clear-groups "$INFEROGRAM" ls -a 127.0.0.1 -p "$port"
    contains "he is told" "$(cat "$T/stderr")" "the token is wrong"
    export IFG_AGENT_TOKEN="$token"
    ok "another user with the token" theirs
    unset IFG_AGENT_TOKEN
    install -m 600 -o 65534 "$T/token" "$T/theirs/token"
    ok "or with a file that has it" theirs --token-file "$T/theirs/token"
    chmod 644 "$T/theirs/token"
    exits "but not one that all can read" 4 theirs --token-file "$T/theirs/token"
    is "what he got is his" "$(stat -c %u "$T/theirs/run.ifg")" 65534
    other=$(free_port)
    spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" squat "$other" 65534 >"$T/other.out"
    until_true 60 grep -q ready "$T/other.out"
    exits "whoever took the port does not get the token" 4 "$INFEROGRAM" ls -a 127.0.0.1 -p "$other" --token-file "$T/token"
    until_true 60 grep -q got "$T/other.out"
    contains "nothing was sent" "$(cat "$T/other.out")" "got nothing"
    # An agent that is not root records what its user may record, whoever asks.
    kill "$agent"
    ended "$agent"
    port=$(free_port)
    spawn setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" agent --listen "127.0.0.1:$port" >"$T/agent.out" 2>"$T/agent.err"
    agent=$spawned
    until_true 60 grep -q ":$port" "$T/agent.out"
    exits "an agent has its user's rights only" 4 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --pid "$pid" -o "$T/rights.ifg"
    is "and root's program is not recorded" "$(ls "$T/rights.ifg" 2>/dev/null)" ""
fi

# ---- the end of an agent ---------------------------------------------------------------------------
kill "$agent"
ended "$agent"
agent
capturing --pid "$pid"
agent_ends

done_testing
