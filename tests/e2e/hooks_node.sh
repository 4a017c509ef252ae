#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Node programs, on the oldest, two middle and the newest ONNX Runtime.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
command -v node >/dev/null || skip_all "tools: no node on this machine"
need silero
programs=$SOURCE_DIR/tests/runtimes
silero=$(cached silero)/silero_vad_v5.onnx

for version in 1.14.0 1.17.0 1.20.1 1.30.0; do
    if ! have "ort-node-$version"; then
        skip "onnxruntime-node $version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    NODE_PATH=$(cached "ort-node-$version")/node_modules
    export NODE_PATH

    same "$version: voice activity" node "$programs/vad.js" "$silero" 200
    is "$version: every inference, the load" "$(counts)" "inference 200, load 1, specialization 1"
    is "$version: nothing dropped" "$(rows "SELECT dropped FROM trace_info")" 0
    is "$version: the model" \
        "$(rows "SELECT DISTINCT name, path, runtime, requested_devices FROM model WHERE path != ''")" \
        "silero_vad_v5,$silero,ONNX Runtime $version,CPUExecutionProvider"
    is "$version: the instrument" "$(instrument "ONNX Runtime $version")" "on: launch hooks"
    is "$version: all in session 1" "$(inference_attributes session)" "1 200"
    is "$version: batch" "$(inference_attributes batch)" "1 200"
    contains "$version: shapes" "$(inference_attributes shapes)" "input:1x512"
    contains "$version: shapes of the state" "$(inference_attributes shapes)" "state:2x1x128"
    is "$version: cold" "$(rows "SELECT specialization FROM ml_event WHERE category = 'load'")" cold
    is "$version: where it ran" "$(property silero_vad_v5 actual_devices)" CPUExecutionProvider
    is "$version: set-up ends before its inference begins" "$(set_up)" 200

    same "$version: two models" node "$programs/two_models.js" "$silero" "$models/relu.onnx" 20
    is "$version: each with its inferences; the one from memory has the name of its graph" \
        "$(rows "SELECT model, count(*) FROM ml_event WHERE category = 'inference' GROUP BY model ORDER BY model" |
            tr '\n' ' ')" "relu_graph,20 silero_vad_v5,20 "
    is "$version: where they came from" "$(property relu_graph source) $(property silero_vad_v5 source)" "memory file"

    same "$version: a session per request" node "$programs/session_per_request.js" "$models/relu.onnx" 12
    is "$version: each load" "$(counts)" "inference 12, load 12, specialization 12"
    is "$version: sessions are numbered" "$(attributes load session)" "1 2 3 4 5 6 7 8 9 10 11 12"
    is "$version: the same model" "$(rows "SELECT count(DISTINCT content_id) FROM model WHERE name = 'relu'")" 1

    same "$version: failing runs" node "$programs/error.js" "$models/relu.onnx" 6
    is "$version: failures are marked" "$(rows "SELECT count(*) FROM attribute a JOIN ml_event e ON e.id = a.slice
        WHERE e.category = 'inference' AND a.key = 'status' AND a.value LIKE 'error: %invalid dimensions%'")" 3
    is "$version: and counted with the others" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 6
done
done_testing
