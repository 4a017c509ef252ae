#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --memory with real runtimes: programs that must not notice, and whose the allocations are; with samples too.
# shellcheck disable=SC2034,SC2154 # shared with the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
cd "$T" || exit 1
record_options="--no-sample --memory"

if command -v node >/dev/null && have silero && have ort-node-1.30.0; then
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    same "node" node "$SOURCE_DIR/tests/runtimes/vad.js" "$(cached silero)/silero_vad_v5.onnx" 100
    is "node: every inference, the load" "$(counts)" "inference 100, load 1, specialization 1"
    ok "node: what the model's load takes" test "$(rows "SELECT count(*) FROM heap_allocation
        WHERE model = 'silero_vad_v5' AND category = 'load' AND module LIKE 'libonnxruntime%'")" -gt 0
    stacks=$(rows "SELECT count(*) FROM heap_allocation")
    note "node: $stacks allocations, $(rows "SELECT value FROM fact WHERE key = 'allocations.rooted'") to the root"
    ok "node: stacks reach the root" test "$(($(rows "SELECT value FROM fact WHERE key = 'allocations.rooted'") * 100))" -ge "$((stacks * 90))"
    is "node: nothing of ours is on their stacks" "$(rows "SELECT count(*) FROM heap_allocation h
        JOIN stack_frame f ON f.stack = h.stack WHERE f.module LIKE 'libinferogram-memory%'")" 0
    # With samples the same stacks, of the same modules.
    record_options="--sample=97 --memory"
    same "node, samples too" node "$SOURCE_DIR/tests/runtimes/vad.js" "$(cached silero)/silero_vad_v5.onnx" 100
    record_options="--no-sample --memory"
    ok "node, samples too: what the model's load takes" test "$(rows "SELECT count(*) FROM heap_allocation
        WHERE model = 'silero_vad_v5' AND category = 'load' AND module LIKE 'libonnxruntime%'")" -gt 0
    if [ "$(rows "SELECT count(*) FROM sample")" -gt 0 ]; then
        ok "node, samples too: functions of both" test "$(rows "SELECT count(DISTINCT f.function) FROM stack_frame f
            JOIN heap_allocation h ON h.stack = f.stack WHERE f.function IN (SELECT g.function FROM stack_frame g
            JOIN sample s ON s.stack = g.stack)")" -gt 5
    else
        skip "node, samples too: functions of both" "$(instrument samples)"
    fi
else
    skip "node" "runtimes: no node, or $(tail -n 1 "$T/fetch")"
fi
if have python-1.31.1; then
    same "python" "$(cached python-1.31.1)/bin/python" "$SOURCE_DIR/tests/runtimes/python/runs.py" plain "$models/relu.onnx" 50
    is "python: events" "$(counts)" "inference 50, load 1, specialization 1"
    ok "python: allocations" test "$(rows "SELECT count(*) FROM heap_allocation")" -gt 10
else
    skip "python" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
