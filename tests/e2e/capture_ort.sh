#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Captures of programs that run ONNX Runtime and know nothing of us: what comes through the connection is what they did.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
need_probes
need ort-node-1.20.1
cd "$T" || exit 1
# By a name of its own: other tests run the same program at the same time.
name=capture-$$
work=$T/$name
cp "$PROGRAMS/ort_steady" "$work"
# shellcheck disable=SC2119 # without options
agent

steady one.log "$work" one.log 500 "$(ort 1.20.1)" "$models/relu.onnx"
capturing --name "$name" --no-sample
until_recorded 20
kill -INT "$capture"
ended "$capture"
is "a capture by the name of the program" "$status" 0
contains "it tells what was watched" "$(cat "$T/capture.err")" "watched ONNX Runtime 1.20.1"
ok "the program goes on" tap_alive "$steady"
settle "$steady"
all_there "by name" one.log 20
is "the model" "$(rows "SELECT name, runtime FROM model")" "relu,ONNX Runtime 1.20.1"
is "nothing lost" "$(rows "SELECT dropped FROM trace_info")" 0
ok "a report of it" "$INFEROGRAM" report "$trace"

# ---- the next one ----------------------------------------------------------------------------------
rm -f "$trace"
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --next --name "$name" --no-sample -o "$trace" 2>"$T/next.err"
capture=$spawned
until_true 60 grep -q "waiting for the next process" "$T/next.err"
steady next.log "$work" next.log 500 "$(ort 1.20.1)" "$models/relu.onnx"
until_recorded 20
settle "$steady"
ended "$capture"
is "--next ends with its program" "$status" 0
all_there "--next" next.log 20
is "--next has the load" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'load'")" 1

# ---- a wait that is given up -----------------------------------------------------------------------
spawn "$INFEROGRAM" capture -a 127.0.0.1 -p "$port" --next --name nobody-at-all -o "$T/none.ifg" 2>"$T/next.err"
capture=$spawned
until_true 60 grep -q "waiting for the next process" "$T/next.err"
kill -KILL "$capture"
until_true 60 no_recorders "$agent"
is "who waits for nobody is not left behind" "$(recorders "$agent")" ""

done_testing
