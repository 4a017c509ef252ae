#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signal handlers that emit events, at any rate, on any thread: every record is there, or counted as dropped.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"

for mode in timer raise first altstack threads; do
    record "$PROGRAMS/client_signals" "$mode"
    is "$mode: exit status" "$status" 0
    sound "$mode"
    counts "$mode: emitted = recorded + dropped" emitted "$output"
    is "$mode: ends match" "$(lost 'came twice')" 0
done

record "$PROGRAMS/client_signals" first
counts "first event in a handler: nothing dropped, a thread each" zones 200 messages 100 counters 100 \
    frames 100 dropped 0 threads 100

record "$PROGRAMS/client_signals" jump
is "longjmp: exit status" "$status" 0
sound "longjmp"
counts "longjmp: what comes after is right" zones 100 open 0 dropped 0
is "longjmp: zones it went over are counted" "$(lost 'came twice')" 125
dump
is "longjmp: nesting heals" "$(lines '^zone .*name=after in=outer$')" 50
done_testing
