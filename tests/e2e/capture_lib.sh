#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154
# What the tests of agent and capture share; after tap.sh and record_lib.sh.
#
#   agent OPTIONS...      starts one on a port of its own; $agent is its id, $port the port
#   capture OPTIONS...    from it, into $trace, in the foreground
#   capturing OPTIONS...  the same in the background: $capture is its id; returns when the file grows

# A port that is free now; the range of the default ports belongs to whoever tests that.
free_port() {
    python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

agent_decided() { grep -q ":$port" "$T/agent.out" || ! tap_alive "$agent"; }
agent() {
    for _ in 1 2 3 4 5; do # somebody else may have taken the port meanwhile
        port=$(free_port)
        : >"$T/agent.out"
        spawn "$INFEROGRAM" agent --listen "127.0.0.1:$port" "$@" >"$T/agent.out" 2>"$T/agent.err"
        agent=$spawned
        until_true 60 agent_decided
        tap_alive "$agent" && break
    done
    grep -q ":$port" "$T/agent.out" || fail "the agent starts" "$(cat "$T/agent.err")"
}

capture() { "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" -f -o "$trace" "$@" 2>"$T/stderr"; }

capturing() {
    rm -f "$trace"
    spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" -o "$trace" "$@" 2>"$T/capture.err"
    capture=$spawned
    until_true 60 test -s "$trace" || fail "the capture starts" "$(cat "$T/capture.err")"
}

# recorders PID: the children of an agent.
recorders() { cat "/proc/$1/task/$1/children"; }
no_recorders() { [ -z "$(recorders "$1")" ]; }

# agent_ends: SIGTERM to $agent, which finishes what $capture writes to $trace, and ends.
agent_ends() {
    kill -TERM "$agent"
    ended "$capture"
    is "an agent that ends finishes its captures" "$status" 0
    is "the trace is finished" "$(json "$trace" "d['file']['finished']")" True
    ended "$agent"
    is "and ends well" "$status" 0
}
