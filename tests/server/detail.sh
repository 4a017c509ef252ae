#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the server tells of traces, against a recomputation from SQL: level of detail of every kind of track, details, search.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

check() { # TRACE CASE...
    trace=$1
    shift
    serve -q "$trace"
    for case in "$@"; do
        ok "$(basename "$trace" .ifg): $case" python3 "$SOURCE_DIR/tests/server/detail.py" "$url" "$trace" "$INFEROGRAM" "$case"
    done
    stop_serving
    is "$(basename "$trace" .ifg): served to the end" "$status" 0
}

"$INFEROGRAM" record -q --resources=20 -o "$T/pipeline.ifg" -- "$BUILD_DIR/examples/image_pipeline" 400 3 >/dev/null
check "$T/pipeline.ifg" threads counters slices search selection length

# Spans that overlap, begin at once, and end on other threads.
python3 -c "
import json
spans = [(k, 'upload' if k % 3 else 'wait', k % 7, 100 * (k // 2), 100 * (k // 2) + 37 * k % 900) for k in range(60)]
print(json.dumps([event for k, name, thread, begin, end in spans for event in (
    {'ph': 'b', 'cat': 'x', 'name': name, 'id': k, 'pid': 1, 'tid': 1 + thread, 'ts': begin},
    {'ph': 'e', 'cat': 'x', 'name': name, 'id': k, 'pid': 1, 'tid': 1 + k % 2, 'ts': end})]
    + [{'ph': 'X', 'name': 'work', 'pid': 1, 'tid': 1, 'ts': 500 * k, 'dur': 300} for k in range(9)]))" >"$T/spans.json"
"$INFEROGRAM" import "$T/spans.json" -o "$T/spans.ifg" >/dev/null
check "$T/spans.ifg" threads asyncs selection length

"$REPORT_TRACES" profile "$T/profile.ifg"
check "$T/profile.ifg" threads models operators slices search selection length
serve -q "$T/profile.ifg"
cat >"$T/samples.py" <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from client import Server
server = Server(sys.argv[1])
meta = server.json('t/0/meta')
assert meta['has']['samples'] and meta['has']['states'], meta['has']
functions = [r['name'] for r in server.json('t/0/functions')['functions']]
own, worker = [t for t in meta['tracks'] if t['kind'] == 'thread']
assert own['samples'] + worker['samples'] == 100 and worker['count'] == 0, (own, worker)
calls = server.columns(f't/0/sampled_calls?track={worker["id"]}&px=16384')
names = {(calls['row'][i], functions[calls['location'][i]]) for i in range(calls['n'])}
assert (1, 'spin') in names, names
assert sum(calls['count'][i] for i in range(calls['n']) if calls['row'][i] == 0) == worker['samples'], calls['count']
states = server.columns(f't/0/states?track={own["id"]}&px=16384')
assert 1 in states['location'], list(states['location'])  # preempted: runnable
for a, b in zip(range(states['n']), range(1, states['n'])):
    assert states['start'][b] >= states['start'][a]
first = [i for i, row in enumerate(server.json('t/0/find?q=inference')['hits'])]
assert first
hit = server.json('t/0/find?q=inference')['hits'][0]
slice = server.json(f't/0/slice?id={hit["first"]}')
assert slice['samples']['n'] == 4 and slice['samples']['functions'][0]['name'] == 'run(int)', slice['samples']
assert slice['states']['runnable_ns'] == 2000000, slice['states']
runs = server.columns('t/0/runs?model=0')
assert runs['n'] == 10 and list(runs['start']) == sorted(runs['start']), runs
busy = server.json('t/0/busy?px=100')
assert len(busy['cpu']) == 100 and len(busy['categories']) == 100, busy
assert sum(c[5] for c in busy['categories']) > 50, busy['categories']
END
ok "samples and switches" python3 "$T/samples.py" "$url" "$SOURCE_DIR/tests/server"
stop_serving

if sanitized; then
    skip "silero" "a sanitized library cannot be preloaded into other programs"
elif ! command -v node >/dev/null || ! have silero || ! have ort-node-1.30.0; then
    skip "silero" "node, onnxruntime-node or the model is not there"
else
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules "$INFEROGRAM" record -q --ops=4 --sample=251 --resources=20 -o "$T/silero.ifg" -- \
        node "$SOURCE_DIR/tests/runtimes/vad.js" "$(cached silero)/silero_vad_v5.onnx" 300 >"$T/out"
    check "$T/silero.ifg" threads models operators counters slices selection length
fi
done_testing
