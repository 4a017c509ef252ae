#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the library share: record a sample program, ask what the trace holds.
# shellcheck disable=SC2034 # output and status are for the tests

trace=$T/trace.ifg
: "${PROGRAMS:?}" "${INFEROGRAM:?}"

# Built with a sanitizer, which brings system calls and habits of its own.
sanitized() { case ${SANITIZE:-none} in none) false ;; esac; }

# record COMMAND...: its stdout is in $output, its exit status in $status, what was recorded in $T/totals.
record() {
    status=0
    rm -f "$trace" "$T/totals"
    "$INFEROGRAM" record --no-resources -q -f -o "$trace" -- "$@" >"$T/output" 2>"$T/record.err" || status=$?
    output=$(cat "$T/output")
    "$PROGRAMS/dump_trace" --totals "$trace" >"$T/totals" 2>&1 || echo "unreadable" >>"$T/totals"
}

# total NAME: one number of the last recording.
total() { sed -n "s/^$1 //p" "$T/totals"; }

# lost WHAT: how much of it, 0 if nothing.
lost() {
    found=$(sed -n "s/^lost \([0-9]*\) .*$1.*/\1/p" "$T/totals")
    echo "${found:-0}"
}

# The last recording is whole: every zone possible and named, no block damaged, nothing that makes no sense.
sound() {
    is "$1: sound" "$(total bad) $(total unnamed) $(total damaged) $(lost 'no sense')" "0 0 0 0"
}

# counts NAME VALUE for several pairs: counts TEST zones 10 dropped 0 ...
counts() {
    counts_name=$1
    shift
    counts_got=
    counts_expected=
    while [ $# -ge 2 ]; do
        counts_got="$counts_got $1=$(total "$1")"
        counts_expected="$counts_expected $1=$2"
        shift 2
    done
    is "$counts_name" "$counts_got" "$counts_expected"
}

# The trace as text in $T/dump.
dump() { "$PROGRAMS/dump_trace" "$trace" >"$T/dump"; }

# lines PATTERN: how many lines of the dump match.
lines() { grep -c -e "$1" "$T/dump"; }
