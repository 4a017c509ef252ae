#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154
# What the record_*.sh tests share; read after tap.sh. Needs REC_TICKER from the build.

# json FILE EXPRESSION: of `info --json FILE`, as Python sees it in d.
json() {
    "$INFEROGRAM" info --json "$1" >"$T/json.$$" 2>"$T/json.err" || cat "$T/json.err"
    python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
        "$T/json.$$" "$2" 2>&1
}

# count FILE NAME: how many zones of that name.
count() {
    json "$1" "sum(p['count'] for p in d['locations'] if p['name'] == '$2')"
}

# until_true SECONDS COMMAND...: tries again and again.
until_true() {
    until_left=$(($1 * 50))
    shift
    while ! "$@" >/dev/null 2>&1; do
        until_left=$((until_left - 1))
        [ "$until_left" -gt 0 ] || return 1
        sleep 0.02
    done
}

# carries PID: returns when it has the library in it, and can be recorded.
carries() {
    until_true 60 grep -q memfd:inferogram "/proc/$1/maps"
}

# ticker OPTIONS...: starts the sample program; its id is in $ticker, its output in $T/ticker.out.
ticker() {
    : >"$T/ticker.out"
    spawn "$REC_TICKER" -p "$@" >"$T/ticker.out" 2>"$T/ticker.err"
    ticker=$spawned
    until_true 60 grep -q ready "$T/ticker.out" || fail "the sample program starts"
}

# recorder OPTIONS...: starts a recorder; its id is in $recorder. Returns when it records.
recorder() {
    : >"$T/recorder.err"
    spawn "$INFEROGRAM" record "$@" >"$T/recorder.out" 2>"$T/recorder.err"
    recorder=$spawned
    until_true 60 grep -q recording "$T/recorder.err" || fail "the recorder starts"
}

# ended PID: waits for it and gives its status in $status; 999 if it does not end.
ended() {
    status=0
    if until_true 60 not_alive "$1"; then
        wait "$1" || status=$?
    else
        status=999
    fi
}

# took_signals PID: nothing that was sent to it waits any more. A second signal before that would be lost.
took_signals() {
    grep -q '^ShdPnd:[[:space:]]*0*$' "/proc/$1/status"
}

not_alive() {
    ! tap_alive "$1"
}
