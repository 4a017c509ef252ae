#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram bench with everything that can be wrong: one clear sentence and the right exit status.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"

# refuses STATUS SENTENCE ARGUMENTS...: with that sentence, in one line, and nothing on stdout
refuses() {
    refuses_status=$1
    refuses_sentence=$2
    shift 2
    exits "$refuses_sentence" "$refuses_status" "$INFEROGRAM" bench -q --processes 1 -w 2 "$@"
    contains "... is said" "$(cat "$T/stderr")" "$refuses_sentence"
    is "... in one line" "$(wc -l <"$T/stderr") $(wc -c <"$T/stdout")" "1 0"
}

# ---- the command line ----
refuses 2 "which model? Give a file"
refuses 2 "'b' is too many" a b
for pair in '-n 0' '-n x' '--iterations -5' '-w -1' '-w x' '--duration 0' '--duration x' '--processes 0' '--batch 0' \
    '--threads 0' '--threads 1,x' '--seed x' '--rate 0' '--rate x' '--slo 0' '--percentile middle' '--scenario bad' \
    '--ops=0' '--opt foo' '--policy FOO' '--dim batch' '--shape 1xx2' '--value sr' '--ep cpu,' '--ep-sets ;' '--pin x' \
    '--session-config foo' '--set =1' '--concurrency 0' '--per-query 0' '--samples 0' '--start-iter x'; do
    # shellcheck disable=SC2086 # an option and its value
    exits "$pair" 2 "$INFEROGRAM" bench $pair "$quick"
    contains "$pair points to the help" "$(cat "$T/stderr")" "see 'inferogram bench --help'"
done
refuses 2 "the scenario server needs --rate R" "$quick" --scenario server
refuses 2 "--rate goes with --scenario server" "$quick" --rate 5
refuses 2 "--find-rate needs --slo T" "$quick" --scenario server --find-rate
refuses 2 "--duration and --iterations exclude each other" "$quick" -n 5 --duration 1s
refuses 2 "--start-iter 100 leaves none of 100 iterations" "$quick" --start-iter 100
refuses 2 "--load-only runs no inference" "$quick" --load-only --ops

# ---- the model file ----
refuses 2 "nothing.onnx: No such file or directory" "$T/nothing.onnx"
mkdir "$T/folder" "$T/hollow"
cp "$models/relu.onnx" "$T/folder/"
refuses 2 "folder is a directory; name the model file in it, such as $T/folder/relu.onnx" "$T/folder"
refuses 2 "there is no .onnx or .ort file in it" "$T/hollow"
printf '<!DOCTYPE html><html><body>404</body></html>\n' >"$T/page.onnx"
refuses 2 "this looks like HTML" "$T/page.onnx"
head -c 200 "$models/mixed.onnx" >"$T/short.onnx"
refuses 2 "truncated" "$T/short.onnx"
: >"$T/empty.onnx"
refuses 2 "empty.onnx is empty" "$T/empty.onnx"
printf '{"schema": 1}\n' >"$T/result.json"
refuses 2 "is a JSON document, not a model" "$T/result.json"
"$INFEROGRAM" record -q -f -o "$trace" -- true >/dev/null 2>&1
refuses 2 "is a trace, not a model; 'inferogram report $trace'" "$trace"
refuses 2 "cannot write $T/no/result.json" "$quick" --runtime "$BENCH_FAKE" -o "$T/no/result.json"

# ---- runtimes ----
refuses 4 "$T/no-such" "$models/relu.onnx" --ort "$T/no-such"
refuses 2 "no-such.so cannot be read" "$quick" --runtime "$T/no-such.so"
fake crashing run_us=100 crash_at=1
refuses 1 "killed by signal" "$T/crashing" --runtime "$BENCH_FAKE"
fake failing run_us=100 fail_at=1
refuses 1 "inference number 1 of failing" "$T/failing" --runtime "$BENCH_FAKE"
fake late run_us=100 crash_at=20
exits "a crash in the middle" 1 bench "$T/late" -n 30
contains "is told with its signal" "$(cat "$T/stderr")" "killed by signal"
matches "after what was measured before it" "$(cat "$T/stdout")" '^latency +p50 '

# ---- Ctrl-C ----
fake steady run_us=1000
# The kernel sends it to the whole group, as here.
interrupt() { # SECONDS ARGUMENTS...: stdout, stderr, and the status in $status
    interrupt_after=$1
    shift
    setsid "$INFEROGRAM" bench -q --runtime "$BENCH_FAKE" "$@" >"$T/stdout" 2>"$T/stderr" </dev/null &
    interrupt_pid=$!
    until_interruptible "$interrupt_pid"
    sleep "$interrupt_after"
    kill -INT "-$interrupt_pid"
    status=0
    wait "$interrupt_pid" || status=$?
}
for seconds in 2 4 8 16; do # on a busy machine nothing may be measured yet
    interrupt $seconds "$T/steady" -w 5 -n 20000 --processes 2 -f -o "$T/result.json"
    if grep -q '^interrupted' "$T/stdout" && [ "$(value 'len(d["raw_samples_ms"]) > 20')" = True ]; then break; fi
done
is "Ctrl-C: exit status" "$status" 3
matches "says how far it came" "$(cat "$T/stdout")" '^interrupted: [0-9 ]+ of 40000 iterations'
matches "prints what was measured" "$(cat "$T/stdout")" '^latency +p50 '
is "so does the document" "$(value 'd["interrupted"], len(d["raw_samples_ms"]) > 20')" "(True, True)"
fake sleepy load_us=30000000 how=sleep
interrupt 1 "$T/sleepy"
is "Ctrl-C while loading: exit status" "$status" 3
contains "says that there is nothing" "$(cat "$T/stderr")" "interrupted before anything was measured"
fake hanging run_us=100 hang_at=20
interrupt 1 "$T/hanging" -w 5 -n 100
is "Ctrl-C while an inference hangs: exit status" "$status" 3

# ---- ONNX Runtime ----
if ! have ort-node-1.30.0; then
    skip "ONNX Runtime" "runtimes: $(tail -n 1 "$T/fetch")"
    done_testing
fi
IFG_ORT=$(ort 1.30.0)
export IFG_ORT
refuses 1 "does not have the operator NoSuchOperator" "$models/unknown.onnx"
sanitized || refuses 1 "does not have the operator NoSuchOperator" "$models/unknown.onnx" --trace "$T/unknown.ifg"
refuses 2 "the model has no such input; it has: x" "$models/relu.onnx" --shape y:1x4
refuses 2 "input x is declared as Nx4, which 1x4x7 does not fit" "$models/relu.onnx" --shape 1x4x7
refuses 4 "CUDAExecutionProvider" "$models/relu.onnx" --ep cuda
refuses 4 "has no setting \"foo\"" "$models/relu.onnx" --set foo=1
python3 - "$T" <<'END'
import struct, sys, zipfile
def npy(dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (dtype, shape)
    head = head.ljust(118 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def npz(name, arrays):
    with zipfile.ZipFile(sys.argv[1] + "/" + name, "w") as archive:
        for key, data in arrays.items():
            archive.writestr(key + ".npy", data)
npz("names.npz", {"picture": npy("<f4", (1, 4), bytes(16))})
npz("types.npz", {"x": npy("<i8", (1, 4), bytes(32))})
npz("shapes.npz", {"x": npy("<f4", (1, 5), bytes(20))})
npz("good.npz", {"x": npy("<f4", (1, 4), bytes(16))})
END
refuses 2 "the model takes: x" "$models/relu.onnx" --input-data "$T/names.npz"
refuses 2 "input x takes float32" "$models/relu.onnx" --input-data "$T/types.npz"
refuses 2 "input x takes Nx4" "$models/relu.onnx" --input-data "$T/shapes.npz"
refuses 2 "No such file or directory" "$models/relu.onnx" --input-data "$T/none.npz"
ok "and data that fit" "$INFEROGRAM" bench -q --processes 1 -w 2 -n 5 "$models/relu.onnx" --input-data "$T/good.npz"

done_testing
