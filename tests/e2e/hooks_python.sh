#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use the onnxruntime wheel: what is recorded of them, and that they do not notice.
# shellcheck disable=SC2034,SC2154 # shared with hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
need_plain_build
runs=$SOURCE_DIR/tests/runtimes/python/runs.py
mkdir "$T/place" && cd "$T/place" || exit 99
relu=$models/relu.onnx

lines() { rows "$1" | tr -d '"' | tr '\n' ' ' | sed 's/ $//'; }

finished() { ! "$INFEROGRAM" info "$1" 2>&1 | grep -q 'not finished\|cannot'; }

# stuck NAME OPTIONS...: a program that is in the middle of a load; stuck_over NAME: and what was recorded of it.
stuck() {
    stuck=$1
    shift
    rm -f "$trace" stuck.out wait-here
    mkfifo wait-here
    exec 9<>wait-here
    spawn "$INFEROGRAM" record -q "$@" -o "$trace" -- "$python" "$runs" stuck "$relu" 9>&- >stuck.out 2>stuck.err
    until_true 60 grep -q loading stuck.out || fail "$version $stuck: it loads" "$(cat stuck.err)"
}
stuck_over() {
    exec 9>&-
    wait "$spawned"
    is "$version $1 while loading: the load is open" "$(rows "SELECT model, category, unfinished FROM slice WHERE kind = 'ml'")" "relu,load,1"
    is "$version $1 while loading: the model" "$(rows "SELECT name, requested_devices FROM model")" "relu,CPUExecutionProvider"
}

one_version() { # VERSION
    version=$1
    python=$(cached "python-$version")/bin/python

    same "$version plain" "$python" "$runs" plain "$relu" 50
    is "$version plain: events" "$(counts)" "inference 50, load 1, specialization 1"
    is "$version plain: each in the zone of its line" "$(rows "SELECT p.name, count(*) FROM slice s
        JOIN slice p ON p.id = s.parent_id WHERE s.category = 'inference' GROUP BY p.name")" "__main__.infer,50"
    is "$version plain: that line" "$(rows "SELECT DISTINCT function, line FROM location WHERE name = '__main__.infer'")" \
        "infer,$(grep -n 'created.run(None, {.x.: X})\[0\]' "$runs" | cut -d: -f1)"
    is "$version plain: shapes" "$(inference_attributes shapes)" "x:1x4 50"
    is "$version plain: batch" "$(inference_attributes batch)" "1 50"
    is "$version plain: the load" "$(attributes load specialization), $(attributes load why)" \
        "cold, the graph was optimized while loading"
    is "$version plain: inside the load" "$(lines "SELECT coalesce(s.category, s.name) FROM slice s
        JOIN slice p ON p.id = s.parent_id WHERE p.category = 'load' ORDER BY s.start_ns")" \
        "read model specialization"
    is "$version plain: the model" "$(rows "SELECT name, runtime, requested_devices FROM model")" \
        "relu,ONNX Runtime $version,CPUExecutionProvider"
    is "$version plain: placement" "$(property relu actual_devices)" CPUExecutionProvider
    is "$version plain: the instrument" "$(instrument 'onnxruntime (Python)%')" "on: import hook"

    PYTHONPATH=$(dirname "$runs")
    export PYTHONPATH
    same "$version python -m, own PYTHONPATH" "$python" -m runs plain "$relu" 5
    unset PYTHONPATH
    is "$version python -m: events" "$(counts)" "inference 5, load 1, specialization 1"
    same "$version python -c" "$python" -c "
import onnxruntime, numpy
s = onnxruntime.InferenceSession('$relu')
print(s.run(None, {'x': numpy.zeros((2, 4), 'float32')}))"
    is "$version python -c: batch" "$(inference_attributes batch)" "2 1"

    same "$version two sessions of a file, one of bytes" "$python" "$runs" two "$relu" 10
    is "$version two sessions: events" "$(counts)" "inference 30, load 3, specialization 3"
    is "$version two sessions: two models" "$(lines "SELECT name || ':' || (coalesce(path, '') = '') FROM model ORDER BY 1")" \
        "relu:0 relu_graph:1"
    is "$version two sessions: numbers" "$(inference_attributes session)" "1 10
2 10
3 10"

    same "$version threads" "$python" "$runs" threads "$relu" 1000
    is "$version threads: 4000" "$(counts)" "inference 4000, load 1, specialization 1"
    is "$version threads: each in its thread" "$(lines "SELECT count(*) FROM ml_event WHERE category = 'inference'
        GROUP BY thread")" "1000 1000 1000 1000"

    same "$version threads without Python" "$python" "$runs" bare "$relu" 9
    is "$version threads without Python: events" "$(counts)" "inference 9, load 1, specialization 1"

    same "$version errors" "$python" "$runs" errors "$relu"
    is "$version errors: failed runs" "$(attributes inference status | grep -o 'error: ' | wc -l)" 5
    contains "$version errors: with ONNX Runtime's words" "$(attributes inference status)" "Got: 3 Expected: 4"
    contains "$version errors: a missing file" "$(attributes load status)" ".missing"

    same "$version run_async" "$python" "$runs" async "$relu" 4
    is "$version run_async: spans" "$(lines "SELECT count(*) FROM async_span")" 4

    same "$version io binding" "$python" "$runs" binding "$relu" 3
    is "$version io binding: shapes" "$(inference_attributes shapes)" "x:1x4 4"
    is "$version io binding: setup before each" "$(rows "SELECT count(DISTINCT i.id) FROM slice i JOIN slice s
        ON s.thread = i.thread AND s.category = 'setup' AND s.end_ns <= i.start_ns WHERE i.category = 'inference'")" 4

    same "$version a provider that is absent" "$python" "$runs" absent "$relu"
    is "$version absent: asked for" "$(rows "SELECT requested_devices FROM model")" \
        CUDAExecutionProvider,CPUExecutionProvider
    is "$version absent: got" "$(property relu actual_devices) $(property relu nodes.CUDAExecutionProvider)" \
        "CPUExecutionProvider 0"
    contains "$version absent: why" "$(property relu requested_failed.CUDAExecutionProvider)" "not in this build"

    same "$version subclass, pickle" "$python" "$runs" subclass "$relu"
    is "$version subclass: events" "$(counts)" "inference 1, load 2, specialization 2"
    same "$version own options and profile" "$python" "$runs" options "$relu"
    same "$version fork" "$python" "$runs" fork "$relu" 20
    is "$version fork: events" "$(counts)" "inference 40, load 2, specialization 2"
    same "$version spawn" "$python" "$runs" spawn "$relu" 20
    is "$version spawn: events" "$(counts)" "inference 40, load 2, specialization 2"
    same "$version a session that a child inherits" "$python" "$runs" inherited "$relu" 7
    is "$version inherited: events" "$(counts)" "inference 8, load 1, specialization 1"
    same "$version saved models" "$python" "$runs" formats "$relu"
    is "$version saved models: loads" "$(attributes load specialization)" "cold precompiled cold precompiled unknown"

    record_options='--duration 0.5s'
    same "$version not recorded to its end" "$python" "$runs" forever "$relu" 1200
    record_options=

    # A load that lasts is in the trace while it does: of a program that is killed, and of a recording that ends before it.
    stuck killed
    kill -KILL "$(sed -n 's/^loading //p' stuck.out)"
    stuck_over killed
    for seconds in 4 20; do # on a busy machine the program may not have come to its load by then: again, longer
        stuck cut --duration "${seconds}s"
        until_true 60 finished "$trace"
        [ -z "$(rows "SELECT 1 FROM slice WHERE kind = 'ml'")" ] || break
        exec 9>&-
        wait "$spawned"
    done
    stuck_over cut

    same "$version IFG_OFF" env IFG_OFF=1 "$python" "$runs" plain "$relu" 5
    is "$version IFG_OFF: nothing" "$(rows "SELECT count(*) FROM slice")" 0

    if have silero; then
        same "$version silero" "$python" -c "
import numpy, onnxruntime
s = onnxruntime.InferenceSession('$(cached silero)/silero_vad_v5.onnx', providers=['CPUExecutionProvider'])
state = numpy.zeros((2, 1, 128), 'float32')
for index in range(20):
    out, state = s.run(None, {'input': numpy.zeros((1, 512), 'float32'), 'state': state, 'sr': numpy.array(16000)})
print(out)"
        is "$version silero: shapes" "$(inference_attributes shapes)" "input:1x512 state:2x1x128 sr:scalar 20"
    else
        skip "$version silero" "runtimes: $(tail -n 1 "$T/fetch")"
    fi
}

for version in 1.20.1 1.31.1; do
    if have "python-$version"; then
        one_version "$version"
    else
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
    fi
done
done_testing
