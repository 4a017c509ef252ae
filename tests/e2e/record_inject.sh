#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --hook inject: the command around what tests/e2e/inject.sh tries in depth.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
cd "$T" || exit 1

exits "with a command" 2 "$INFEROGRAM" record --hook inject -- true
contains "says what it is for" "$(cat "$T/stderr")" "--hook inject is for a process that runs already"
exits "with --next" 2 "$INFEROGRAM" record --hook inject --next
exits "with --ops" 2 "$INFEROGRAM" record --hook inject --ops --pid 1

if [ "$SANITIZE" != none ]; then
    skip "a process that runs" "a sanitized library cannot be loaded into it"
    done_testing
    exit
fi
need ort-node-1.20.1 ort-node-1.30.0
python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$models"
for version in 1.20.1 1.30.0; do
    app_arguments="--ort $(ort "$version") --model $models/relu.onnx --runs 4000 --pause-us 500"
    # shellcheck disable=SC2086 # words
    "$PROGRAMS/ort_app" $app_arguments >plain
    # shellcheck disable=SC2086
    "$PROGRAMS/ort_app" $app_arguments >injected &
    app=$!
    tap_pids="$tap_pids $app"
    sleep 0.5
    ok "$version: record" "$INFEROGRAM" record --pid $app --hook inject --duration 0.5 -f -o t.ifg
    contains "$version: says so" "$(cat "$T/stderr")" "watched ONNX Runtime $version (injected)"
    again=$("$INFEROGRAM" record --pid $app --hook inject --duration 0.2 -q -f -o again.ifg 2>&1) || again="status $? $again"
    is "$version: a second time" "$again" ""
    wait $app
    is "$version: the program's status and output are its own" "$? $(cat injected)" "0 $(cat plain)"
    runs=$("$INFEROGRAM" query t.ifg --csv "SELECT count(*) FROM slice WHERE category = 'inference'" | tail -n 1)
    ok "$version: inferences were seen" test "$runs" -gt 50
    is "$version: of the right model" "$("$INFEROGRAM" query t.ifg --csv "SELECT DISTINCT model FROM slice
        WHERE category = 'inference'" | tail -n +2 | tr -d '\r')" relu
done
exits "a process that is gone" 1 "$INFEROGRAM" record --pid "$app" --hook inject --duration 1
done_testing
