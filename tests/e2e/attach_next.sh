#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --next: the next process that creates a session is recorded from that call on, and nobody else.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.20.1 ort-node-1.30.0
cd "$T" || exit 1
relu=$models/relu.onnx
# By names of their own: others may run models on this machine, too.
cp "$PROGRAMS/ort_app" "app-$$"
cp "$PROGRAMS/ort_steady" "steady-$$"

# waits OPTIONS...: starts `record --next`; its id is in $recorder. Returns when it waits.
waits() {
    : >"$T/recorder.err"
    spawn "$INFEROGRAM" record -f -o "$trace" --next "$@" >"$T/recorder.out" 2>"$T/recorder.err"
    recorder=$spawned
    until_true 60 grep -q "waiting for" "$T/recorder.err" || fail "the recorder waits"
}
models_of() { rows "SELECT category, count(*) FROM ml_event WHERE category IN ('load', 'inference') GROUP BY 1 ORDER BY 1" | tr '\n' ' '; }

# ---- one that runs models already is not the next ----------------------------------------------------
steady old.log "$PROGRAMS/ort_steady" old.log 500 "$(ort 1.20.1)" "$relu"
old=$steady
if have silero && command -v node >/dev/null; then
    silero=$(cached silero)/silero_vad_v5.onnx
    cp "$SOURCE_DIR/tests/runtimes/vad.js" .
    for version in 1.14.0 1.20.1 1.30.0; do
        if ! have "ort-node-$version"; then
            skip "node $version" "runtimes: $(tail -n 1 "$T/fetch")"
            continue
        fi
        NODE_PATH=$(cached "ort-node-$version")/node_modules
        export NODE_PATH
        waits --timeout 60 --path "$T/vad.js"
        for other in 1 2 3 4 5 6 7 8 9 10; do
            spawn sh -c "ls /proc >/dev/null; exec sleep $other"
        done
        node "$T/vad.js" "$silero" 150 >node.out &
        node=$!
        wait "$node"
        ended "$recorder"
        is "node $version: recorded" "$status" 0
        is "node $version: from its first session on, every run" "$(models_of)" "inference,150 load,1 "
        is "node $version: it alone" "$(json "$trace" "d['pids']")" "[$node]"
        is "node $version: the model is known" "$(rows "SELECT name, path FROM model")" "silero_vad_v5,$silero"
        is "node $version: not inferred" "$(property silero_vad_v5 inferred)" ""
        contains "node $version: said" "$(cat recorder.err)" "recording node (pid $node)"
    done
else
    skip "node" "runtimes: no node, or $(tail -n 1 "$T/fetch")"
fi

# ---- a program that is over in a moment ----------------------------------------------------------------
waits --timeout 60 --name "app-$$"
"./app-$$" --ort "$(ort 1.30.0)" --runs 50 --model "$relu" >app.out
ended "$recorder"
is "a short program: recorded" "$status" 0
is "a short program: from its first session on" "$(models_of)" "inference,50 load,1 "
is "a short program: its name" "$(rows "SELECT name FROM process WHERE pid > 0")" "app-$$"

# ---- one that maps the runtime and creates no session -------------------------------------------------
waits --timeout 60 --path "$T/next.py"
cat >next.py <<'EOP'
import ctypes, os, sys, time
ctypes.CDLL(sys.argv[1]); print("ready", flush=True)
if len(sys.argv) > 2:
    time.sleep(60)
time.sleep(0.5)
os.execv(sys.executable, [sys.executable, __file__, sys.argv[1], 'again'])
EOP
spawn python3 "$T/next.py" "$(ort 1.20.1)" >maps.out
until_true 60 grep -q ready maps.out
sleep 0.3
lacks "who only maps a runtime is not recorded" "$(cat recorder.err)" "recording"
sleep 0.7
lacks "nor after an exec" "$(cat recorder.err)" "recording"
ok "the recorder waits on" tap_alive "$recorder"
kill -INT "$recorder"
ended "$recorder"

# ---- one that had mapped the runtime long before it creates a session ---------------------------------
if have python-1.31.1; then
    cat >notebook.py <<'EOP'
import sys
import numpy, onnxruntime
print("imported", flush=True)
with open('go') as waiting:
    waiting.read()
session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
for _ in range(30):
    session.run(None, {'x': numpy.zeros((1, 4), 'float32')})
EOP
    mkfifo go
    exec 8<>go
    spawn "$(cached python-1.31.1)/bin/python" "$T/notebook.py" "$relu" 8>&- >notebook.out 2>&1
    notebook=$spawned
    until_true 60 grep -q imported notebook.out
    waits --timeout 60 --path "$T/notebook.py" 8>&-
    exec 8>&-
    wait "$notebook"
    ended "$recorder"
    is "after its import: recorded" "$status" 0
    is "after its import: from its first session on" "$(models_of)" "inference,30 load,1 "
    is "after its import: it alone" "$(json "$trace" "d['pids']")" "[$notebook]"
else
    skip "after its import" "runtimes: $(tail -n 1 "$T/fetch")"
fi

# ---- options, ends --------------------------------------------------------------------------------------
waits --timeout 60 --duration 3s --name "steady-$$"
steady next.log "./steady-$$" next.log 500 "$(ort 1.20.1)" "$relu"
ended "$recorder"
is "--duration counts from there" "$status" 0
ok "the program goes on" tap_alive "$steady"
settle "$steady"
all_there "--next" next.log 1

rm -f "$trace"
exits "--timeout" 1 "$INFEROGRAM" record -o "$trace" --next --name "nobody-$$" --timeout 300ms
contains "--timeout: said" "$(cat stderr)" "no process created a session of ONNX Runtime within 0.3 s"
ok "--timeout: no file" test ! -e "$trace"
waits --name "nobody-$$"
kill -INT "$recorder"
ended "$recorder"
is "Ctrl-C while waiting" "$status" 1
contains "Ctrl-C while waiting: said" "$(cat recorder.err)" "nothing was recorded"
ok "Ctrl-C while waiting: no file" test ! -e "$trace"
ok "who ran before is not disturbed" tap_alive "$old"
settle "$old"

exits "--timeout without --next" 2 "$INFEROGRAM" record --timeout 1 --pid 1
exits "--next and --pid" 2 "$INFEROGRAM" record --next --pid 1
exits "--next and a command" 2 "$INFEROGRAM" record --next -- true
exits "--next --hook none" 2 "$INFEROGRAM" record --next --hook none
exits "--next without rights" 4 setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" record --next --timeout 1
matches "--next without rights: which" "$(cat stderr)" "CAP_PERFMON"
contains "--next without rights: the alternative" "$(cat stderr)" "inferogram record -- "
done_testing
