#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram ctl: handles for a process that runs, whose output and exit status stay its own.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
cd "$T" || exit 1

exits "without anything" 2 "$INFEROGRAM" ctl
exits "a verb that there is not" 2 "$INFEROGRAM" ctl 1 jump
contains "names those that there are" "$(cat "$T/stderr")" "profile, start, stop, flush, status or snapshot"
exits "no process number" 2 "$INFEROGRAM" ctl self status
exits "profile what?" 2 "$INFEROGRAM" ctl 1 profile
sleep 1000 &
idle=$!
tap_pids="$tap_pids $idle"
exits "a process without models" 1 "$INFEROGRAM" ctl $idle status
contains "says why" "$(cat "$T/stderr")" "$idle"
kill $idle

if [ "$SANITIZE" != none ]; then
    skip "a process that runs" "a sanitized library cannot be loaded into it"
    done_testing
    exit
fi
need ort-node-1.20.1 ort-node-1.30.0
python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$models"

rows() { cat reports/*latency*.txt 2>/dev/null | grep -cE '^ +[0-9]+, '; }
# await COMMAND...: until it is true, or the program is gone
await() { until "$@" || ! tap_alive "$app"; do sleep 0.05; done; }
has_rows() { [ "$(rows)" -ge "$1" ]; }
is_stopped() { "$INFEROGRAM" ctl "$app" status --json | grep -q '"started":0'; }

for version in 1.20.1 1.30.0; do
    rm -rf reports hurry
    runs="--ort $(ort "$version") --model $models/relu.onnx --runs 60000"
    # shellcheck disable=SC2086 # words
    "$PROGRAMS/ort_app" $runs >plain
    # For a minute, or until all was asked of it.
    # shellcheck disable=SC2086
    "$PROGRAMS/ort_app" $runs --pause-us 1000 --hurry hurry >profiled &
    app=$!
    tap_pids="$tap_pids $app"
    await grep -q libonnxruntime "/proc/$app/maps"
    exits "$version: a pattern that cannot be read" 2 "$INFEROGRAM" ctl $app profile 'stream:regex=*,dir=reports'
    contains "$version: says where" "$(cat "$T/stderr")" "position 0"
    exits "$version: a stream" 0 "$INFEROGRAM" ctl $app profile stream:rate=50,regex=relu,dir=reports
    contains "$version: says where reports go" "$(cat "$T/stdout")" "reports to $PWD/reports"
    await has_rows 20
    ok "$version: flush" "$INFEROGRAM" ctl $app flush
    ok "$version: stop" "$INFEROGRAM" ctl $app stop
    await is_stopped
    before=$(rows)
    ok "$version: stopped" test "$before" -ge 20
    ok "$version: start again" "$INFEROGRAM" ctl $app start
    await has_rows $((before + 10))
    contains "$version: a profile beside it" "$("$INFEROGRAM" ctl $app profile profile:samples=5,dir=five)" "profile started"
    has_five() { [ "$(cat five/*latency*.txt 2>/dev/null | grep -cE '^ +[0-9]+, ')" -eq 5 ]; }
    await has_five
    ok "$version: stop all" "$INFEROGRAM" ctl $app stop
    : >hurry
    wait $app
    is "$version: the program's status and output are its own" "$? $(cat profiled)" "0 $(cat plain)"
    is "$version: the profile has its five" "$(cat five/*latency*.txt | grep -cE '^ +[0-9]+, ')" 5
    rm -rf five
done

done_testing
