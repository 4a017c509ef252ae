#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram live that was killed: its folder stays, and goes with the next start. One that is in use, or has more than a
# trace in it, or is a link, does not.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
export TMPDIR
ls_temporary() { find "$T" -maxdepth 1 -name 'inferogram-live-*'; }

spawn "$LIVE_EVENTS" 500 600
target=$spawned
carries "$target"
spawn "$INFEROGRAM" live --no-sample --pid "$target" >running.out 2>running.err
running=$spawned
until_true 60 grep -q 'inference [1-9]' running.out
in_use=$(ls_temporary)
spawn "$INFEROGRAM" live -q --no-sample -- "$LIVE_EVENTS" 100 600 2>killed.err
killed=$spawned
until_true 60 grep -q 'inference [1-9]' killed.err
program=$(cat "/proc/$killed/task/$killed/children")
kill -KILL "$killed"
wait "$killed" 2>/dev/null
# shellcheck disable=SC2086 # ids
kill $program
is "SIGKILL leaves a folder" "$(ls_temporary | wc -l)" 2
mkdir -m 700 inferogram-live-others inferogram-live-open elsewhere
: >inferogram-live-others/live.ifg
: >inferogram-live-others/notes
: >elsewhere/live.ifg
ln -s elsewhere inferogram-live-link
chmod 755 inferogram-live-open
expected=$(printf '%s\n' "$in_use" "$T/inferogram-live-link" "$T/inferogram-live-open" "$T/inferogram-live-others" | sort)
exits "the next start" 0 "$INFEROGRAM" live -q --no-sample -- "$LIVE_EVENTS" 100 0.1
is "removes it, and nothing else" "$(ls_temporary | sort)" "$expected"
is "links are not followed" "$(find elsewhere inferogram-live-others -type f | sort | tr '\n' ' ')" "elsewhere/live.ifg inferogram-live-others/live.ifg inferogram-live-others/notes "
mkdir -m 700 inferogram-live-stale
: >inferogram-live-stale/live.ifg
: >later.ifg
spawn "$INFEROGRAM" serve -q --live later.ifg >served.out
until_true 60 test -s served.out
kill "$spawned"
is "serve --live does the same" "$(ls_temporary | sort)" "$expected"
kill -INT "$running"
ended "$running"
kill "$target"
done_testing
