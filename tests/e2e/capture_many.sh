#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many programs and many captures at a time: all are listed, all are captured, none gets what belongs to another.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
PROGRAMS_AT_ONCE=25
CAPTURES=6

for number in $(seq "$PROGRAMS_AT_ONCE"); do
    spawn "$REC_TICKER" -p -s 3000 >"$T/program.$number"
done
all_ready() { [ "$(cat "$T"/program.* | grep -c ready)" -eq "$PROGRAMS_AT_ONCE" ]; }
until_true 60 all_ready
sed -n 's/^ready //p' "$T"/program.* | sort -n >"$T/pids"
# shellcheck disable=SC2119 # without options
agent

listed() {
    "$INFEROGRAM" ls --json -a 127.0.0.1 -p "$port" >"$T/list" &&
        python3 -c 'import json,sys; print(*sorted(p["pid"] for p in json.load(open(sys.argv[1]))["processes"]), sep="\n")' "$T/list"
}
listed >"$T/found"
is "ls -a lists all $PROGRAMS_AT_ONCE" "$(sort "$T/pids" | comm -23 - "$(sort "$T/found" >"$T/sorted" && echo "$T/sorted")")" ""
"$INFEROGRAM" ls --json >"$T/here"
is "ls -a shows what ls shows" "$(python3 - "$T/here" "$T/list" "$T/pids" <<'EOP'
import json, sys
pids = {int(line) for line in open(sys.argv[3])}
here, there = ([p for p in json.load(open(path))['processes'] if p['pid'] in pids] for path in sys.argv[1:3])
print(sorted(here, key=str) == sorted(there, key=str))
EOP
)" True
matches "and as text" "$("$INFEROGRAM" ls -a 127.0.0.1 -p "$port")" "^ *$(head -n 1 "$T/pids") .*record --pid"
exits "which of them is for you to say" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" -o "$T/any.ifg"
matches "and it tells how" "$(cat "$T/stderr")" 'processes can be recorded \(.*\): choose one with --pid or --name'

captures=
for pid in $(head -n "$CAPTURES" "$T/pids"); do
    spawn "$INFEROGRAM" capture -q -a 127.0.0.1 -p "$port" --pid "$pid" -s 1 -o "$T/$pid.ifg"
    captures="$captures $spawned"
done
failed=
for capture in $captures; do
    ended "$capture"
    [ "$status" -eq 0 ] || failed="$failed $status"
done
is "$CAPTURES captures at a time" "$failed" ""
for pid in $(head -n "$CAPTURES" "$T/pids"); do
    is "the trace of $pid is his" "$(json "$T/$pid.ifg" "(d['pids'], d['events']['zones'] > 0, d['file']['finished'])")" \
        "([$pid], True, True)"
done

# ---- all of them -----------------------------------------------------------------------------------
# A name of their own: other programs of this machine are not for us to capture.
crowd=crowd$$
cp "$REC_TICKER" "$T/$crowd"
for number in 1 2 3; do
    spawn "$T/$crowd" -p -s 3000 >"$T/crowd.$number"
done
crowd_ready() { [ "$(cat "$T"/crowd.* | grep -c ready)" -eq "$1" ]; }
until_true 60 crowd_ready 3
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --all --name "$crowd" -d "$T/all" 2>"$T/all.err"
capture=$spawned
files_grow() { [ "$(find "$T/all" -name "$crowd-*.ifg" -size +2k | wc -l)" -eq "$1" ]; }
until_true 60 files_grow 3
is "--all captures those that are there" "$(find "$T/all" -name '*.ifg' | wc -l)" 3
spawn "$T/$crowd" -p -s 3000 >"$T/crowd.4"
until_true 60 files_grow 4
is "and those that come" "$(find "$T/all" -name '*.ifg' | wc -l)" 4
kill -INT "$capture"
ended "$capture"
is "Ctrl-C ends all of them well" "$status" 0
contains "and tells" "$(cat "$T/all.err")" "4 traces in $T/all"
for trace in "$T/all"/*.ifg; do
    is "${trace##*/} is finished, and his" "$(json "$trace" "(d['file']['finished'], '-%d.ifg' % d['pids'][0] in '$trace')")" \
        "(True, True)"
done
exits "the files are not replaced" 8 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --all --name "$crowd" -d "$T/all" -s 0.5
exits "nobody is there" 1 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --all --name "nobody$$" -d "$T/empty" -s 0.2
exits "--all needs a directory" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --all
exits "and no file" 2 "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --all -d "$T/all" -o "$T/one.ifg"

done_testing
