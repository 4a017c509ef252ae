#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TAP for POSIX shell tests. A test script reads this file, calls the functions below and ends with
# done_testing. It has a directory of its own in $T, which is removed at the end, and the path of the
# tool in $INFEROGRAM. Processes started with `spawn` are ended by their id.
#
#   ok NAME COMMAND...            the command succeeds
#   exits NAME STATUS COMMAND...  the command ends with this status; see $T/stdout, $T/stderr
#   is NAME GOT EXPECTED          two strings are equal
#   contains NAME TEXT PART       TEXT has PART in it
#   lacks NAME TEXT PART          TEXT does not have PART in it
#   matches NAME TEXT ERE         a line of TEXT matches an extended regular expression
#   pass NAME / fail NAME [WHY]   a verdict the script reached by itself
#   skip NAME REASON              one point that cannot be tested here. "ABILITY: why" is a failure where IFG_REQUIRE,
#                                 a list with commas, has the ability: root, samples, probes ... (CONTRIBUTING.md)
#   skip_all REASON               nothing of this script can be tested here; exits
#   note TEXT                     a comment in the report
#   spawn COMMAND...              starts in the background; its id is in $spawned
#   until_interruptible PID       returns when it catches SIGINT. What a shell starts in the background ignores it before

tap_number=0
tap_failed=0
tap_finished=false
tap_pids=

T=$(mktemp -d "${TMPDIR:-/tmp}/ifg-test.XXXXXX") || exit 99

# Still running, as opposed to gone or waiting to be reaped.
tap_alive() {
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# tap_is_ours PID: of this session, or a child. Numbers of processes that have ended are given to others, also to those of
# tests that run beside this one.
tap_is_ours() {
    # shellcheck disable=SC2046 # its words: state, parent, group, session
    set -- $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)
    [ "${2:-}" = "$$" ] || [ "${4:-}" = "$tap_session" ]
}
tap_session=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 4)

tap_end_process() {
    kill "$1" 2>/dev/null
    tap_tries=0
    while tap_alive "$1" && [ "$tap_tries" -lt 40 ]; do
        sleep 0.05
        tap_tries=$((tap_tries + 1))
    done
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

tap_cleanup() {
    tap_status=$?
    trap - EXIT
    for tap_pid in $tap_pids; do
        if tap_alive "$tap_pid" && tap_is_ours "$tap_pid"; then tap_end_process "$tap_pid"; fi
    done
    rm -rf "$T"
    $tap_finished || echo "Bail out! ended before done_testing (exit status $tap_status)"
    exit "$tap_status"
}
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() {
    tap_number=$((tap_number + 1))
    printf 'ok %d - %s\n' "$tap_number" "$1"
}

fail() {
    tap_number=$((tap_number + 1))
    tap_failed=$((tap_failed + 1))
    if [ $# -gt 1 ]; then note "$2"; fi
    printf 'not ok %d - %s\n' "$tap_number" "$1"
}

# is_required REASON: this machine is said to have what is missing.
is_required() {
    case ",${IFG_REQUIRE:-}," in
    *",${1%%:*},"*) true ;;
    *) false ;;
    esac
}

skip() {
    if is_required "$2"; then
        fail "$1" "IFG_REQUIRE has it, and yet: $2"
        return
    fi
    tap_number=$((tap_number + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_number" "$1" "$2"
}

skip_all() {
    if is_required "$1"; then
        fail "whole program" "IFG_REQUIRE has it, and yet: $1"
        done_testing
    fi
    printf '1..0 # SKIP %s\n' "$1"
    tap_finished=true
    exit 0
}

# Where a program stands in for the processor: IFG_EMULATED names the list of what it cannot do (tests/emulated.txt).
if [ -n "${IFG_EMULATED:-}" ]; then
    tap_name=${0##*/}
    tap_reason=$(sed -n "s/^${tap_name%.sh}  *\*  *//p" "$IFG_EMULATED") || exit 99
    if [ -n "$tap_reason" ]; then skip_all "qemu: $tap_reason"; fi
fi

exits() {
    tap_name=$1
    tap_expected=$2
    shift 2
    tap_got=0
    "$@" >"$T/stdout" 2>"$T/stderr" </dev/null || tap_got=$?
    if [ "$tap_got" -eq "$tap_expected" ]; then
        pass "$tap_name"
    else
        note "command  $*"
        note "status   $tap_got, expected $tap_expected"
        tail -n 20 "$T/stdout" | sed 's/^/# stdout: /'
        tail -n 20 "$T/stderr" | sed 's/^/# stderr: /'
        fail "$tap_name"
    fi
}

ok() {
    tap_name=$1
    shift
    exits "$tap_name" 0 "$@"
}

is() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "got      '$2'
expected '$3'"
    fi
}

contains() {
    case $2 in
    *"$3"*) pass "$1" ;;
    *) fail "$1" "got   '$2'
lacks '$3'" ;;
    esac
}

lacks() {
    case $2 in
    *"$3"*) fail "$1" "got      '$2'
contains '$3'" ;;
    *) pass "$1" ;;
    esac
}

matches() {
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        pass "$1"
    else
        fail "$1" "got            '$2'
does not match '$3'"
    fi
}

spawn() {
    "$@" &
    spawned=$!
    tap_pids="$tap_pids $spawned"
}

# The second bit of the signals that it catches. The shell itself has that, too, until it has become the program.
until_interruptible() {
    while tap_alive "$1" && { cmp -s "/proc/$1/exe" "/proc/$$/exe" || ! grep -Eq '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null; }; do
        sleep 0.02
    done
}

done_testing() {
    printf '1..%d\n' "$tap_number"
    tap_finished=true
    [ "$tap_failed" -eq 0 ] || exit 1
    exit 0
}
