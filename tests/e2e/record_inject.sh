#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --hook inject: the command around what tests/e2e/inject.sh tries in depth.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
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
inferences() { "$INFEROGRAM" query "$1" --csv "SELECT count(*) FROM slice WHERE category = 'inference'" | tail -n 1 | tr -d '\r'; }
operators() { "$INFEROGRAM" query "$1" --csv "SELECT count(*) FROM slice WHERE kind = 'op'" | tail -n 1 | tr -d '\r'; }
has_some() { [ "$("$1" "$2")" -gt 10 ] || not_alive "$recorder"; }
# record_some FILE OPTIONS...: until there are some inferences, and operators if they are asked for.
record_some() {
    some_file=$1
    shift
    rm -f "$some_file"
    recorder -o "$some_file" "$@"
    until_true 60 has_some inferences "$some_file"
    case " $* " in *" --ops"*) until_true 60 has_some operators "$some_file" ;; esac
    kill -INT "$recorder"
    ended "$recorder"
    cp "$T/recorder.err" "$T/stderr"
    return "$status"
}
for version in 1.20.1 1.30.0; do
    app_arguments="--ort $(ort "$version") --model $models/relu.onnx --runs 60000"
    # shellcheck disable=SC2086 # words
    "$PROGRAMS/ort_app" $app_arguments >plain
    # shellcheck disable=SC2086
    "$PROGRAMS/ort_app" $app_arguments --pause-us 500 --hurry "$version.hurry" --ready "$version.ready" >injected &
    app=$!
    tap_pids="$tap_pids $app"
    until_true 60 test -e "$version.ready"
    ok "$version: record" record_some t.ifg --pid $app --hook inject
    contains "$version: says so" "$(cat "$T/stderr")" "watched ONNX Runtime $version (injected)"
    again=$("$INFEROGRAM" record --pid $app --hook inject --duration 0.2 -q -f -o again.ifg 2>&1) || again="status $? $again"
    is "$version: a second time" "$again" ""
    : >"$version.hurry" # it goes on for half a minute otherwise
    wait $app
    is "$version: the program's status and output are its own" "$? $(cat injected)" "0 $(cat plain)"
    runs=$("$INFEROGRAM" query t.ifg --csv "SELECT count(*) FROM slice WHERE category = 'inference'" | tail -n 1)
    ok "$version: inferences were seen" test "$runs" -gt 5
    is "$version: of the right model" "$("$INFEROGRAM" query t.ifg --csv "SELECT DISTINCT model FROM slice
        WHERE category = 'inference'" | tail -n +2 | tr -d '\r')" relu
done

# ---- what comes after: the hooks stay in the process and are asleep, so probes see its calls ------------------------
instrument_of() { "$INFEROGRAM" query "$1" --csv "SELECT state, reason FROM instrument WHERE name = '$2'" | tail -n +2 | tr -d '\r'; }
if "$INFEROGRAM" doctor attach 2>/dev/null | grep -q 'attach by uprobes *works'; then
    "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" --runs 1000000 --pause-us 500 >later 2>&1 &
    app=$!
    tap_pids="$tap_pids $app"
    until_true 60 grep -q libonnxruntime "/proc/$app/maps"
    ok "before: injected" "$INFEROGRAM" record --pid $app --hook inject --duration 0.3 -q -f -o t.ifg
    ok "afterwards: attached" record_some t.ifg --pid $app
    contains "afterwards: by probes" "$(cat "$T/stderr")" "watched ONNX Runtime 1.30.0 (attached by uprobes"
    ok "afterwards: its inferences" test "$(inferences t.ifg)" -gt 5
    ok "afterwards: with operators" record_some t.ifg --pid $app --ops=1
    ok "afterwards: operators are there" test "$(operators t.ifg)" -gt 5
    ok "afterwards: injected again" record_some t.ifg --pid $app --hook inject
    contains "afterwards: injected again, and said" "$(cat "$T/stderr")" "watched ONNX Runtime 1.30.0 (injected)"
    ok "afterwards: injected again, its inferences" test "$(inferences t.ifg)" -gt 5

    # A recorder that is killed leaves them awake: each inference is told once all the same.
    "$INFEROGRAM" record --pid $app --hook inject -q -f -o killed.ifg &
    recorder=$!
    until_true 60 sh -c "test \"\$('$INFEROGRAM' query killed.ifg --csv \"SELECT count(*) FROM slice WHERE category = 'inference'\" 2>/dev/null |
        tail -n 1 | tr -d '\r')\" -gt 10"
    kill -KILL $recorder
    wait $recorder 2>/dev/null
    ok "after a killed recorder: attached" record_some t.ifg --pid $app
    ok "after a killed recorder: its inferences" test "$(inferences t.ifg)" -gt 5
    is "after a killed recorder: none twice" "$("$INFEROGRAM" query t.ifg --csv "SELECT count(*) FROM slice s JOIN slice p
        ON p.id = s.parent_id WHERE s.category = 'inference' AND p.category = 'inference'" | tail -n 1 | tr -d '\r')" 0
    is "after a killed recorder: by one way" "$("$INFEROGRAM" query t.ifg --csv "SELECT count(DISTINCT process) FROM slice
        WHERE category = 'inference'" | tail -n 1 | tr -d '\r')" 1
    kill $app
    wait $app 2>/dev/null

    # Started by us and recorded a second time, with operators: the hooks cannot give them any more.
    "$INFEROGRAM" record -q --duration 0.2 -f -o first.ifg -- "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" \
        --runs 1000000 --pause-us 500 >later 2>&1 &
    recorder=$!
    tap_pids="$tap_pids $recorder"
    until_true 60 sh -c "! '$INFEROGRAM' info first.ifg 2>&1 | grep -q 'not finished\|cannot'"
    app=$(pgrep -P $recorder)
    # The file is whole a moment before the recorder lets go of the program.
    until_true 60 sh -c "'$INFEROGRAM' ls --json | python3 -c 'import json, sys
sys.exit(not any(p[\"pid\"] == $app and p[\"recorder\"] == 0 for p in json.load(sys.stdin)[\"processes\"]))'"
    ok "of a program that was started by record" "$INFEROGRAM" record --pid "$app" --ops --duration 1 -f -o t.ifg
    contains "operators: the reason is printed" "$(cat "$T/stderr")" "operators not available: the hooks in this program were started without them"
    matches "operators: the reason is in the trace" "$(instrument_of t.ifg operators)" '^unavailable,.*without them'
    kill "$app"
    wait $recorder 2>/dev/null
else
    skip "what comes after" "probes: no probes here"
fi
exits "a process that is gone" 1 "$INFEROGRAM" record --pid "$app" --hook inject --duration 1
done_testing
