#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A C program with ONNX Runtime by dlopen: every way to load and to run a model, on the oldest and the newest.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.14.0 ort-node-1.30.0 python-1.31.1
new=$(ort 1.30.0)
old=$(ort 1.14.0)
app=$PROGRAMS/ort_app
relu=$models/relu.onnx
chain=$models/chain.onnx

for version in 1.14.0 1.30.0 1.31.1; do
    library=$(ort $version)
    same "$version: runs" "$app" --ort "$library" --model "$relu" --runs 50 --status 7
    is "$version: counted" "$(counts)" "inference 50, load 1, specialization 1"
    is "$version: shapes" "$(inference_attributes shapes)" "x:1x4 50"
    is "$version: the function" "$(rows "SELECT DISTINCT function FROM ml_event WHERE category = 'inference'")" main
    is "$version: inside its load" "$(rows "SELECT p.category FROM slice s JOIN slice p ON p.id = s.parent_id
        WHERE s.category = 'specialization'")" load
    is "$version: released" "$(rows "SELECT count(*) FROM slice WHERE name = 'release session'")" 1
    matches "$version: identity" "$(rows "SELECT content_id FROM model WHERE name = 'relu'")" '^[0-9a-f]{16}-[0-9a-f]{8}$'

    same "$version: new tensors each time" "$app" --ort "$library" --model "$relu" --runs 100 --fresh
    is "$version: a set-up before each inference" "$(set_up)" 100
    is "$version: no more" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'setup'")" 100
    same "$version: tensors in ORT's memory" "$app" --ort "$library" --model "$relu" --runs 10 --allocated
    is "$version: set-ups of those" "$(set_up)" 10

    same "$version: RunWithBinding" "$app" --ort "$library" --model "$models/if.onnx" --runs 20 --binding
    is "$version: bound runs" "$(counts)" "inference 20, load 1, specialization 1"
    is "$version: the binding is their set-up" "$(set_up)" 20
    contains "$version: shapes of bound inputs" "$(inference_attributes shapes)" "x:1x4"

    same "$version: from memory" "$app" --ort "$library" --model "$chain" --array --runs 5
    is "$version: named by its graph" "$(rows "SELECT name, path FROM model WHERE name LIKE 'chain%'")" "chain_graph,"
    same "$version: no options" "$app" --ort "$library" --model "$relu" --no-options --own-run-options --runs 3
    is "$version: recorded all the same" "$(counts)" "inference 3, load 1, specialization 1"
    same "$version: nothing released" "$app" --ort "$library" --model "$relu" --model "$chain" --keep --runs 4
    is "$version: nothing lost by that" "$(counts)" "inference 8, load 2, specialization 2"

    same "$version: failing runs" "$app" --ort "$library" --model "$relu" --runs 10 --wrong-every 5
    is "$version: failures are marked" "$(rows "SELECT count(*) FROM attribute a JOIN ml_event e ON e.id = a.slice
        WHERE e.category = 'inference' AND a.key = 'status' AND a.value LIKE 'error: %invalid dimensions%'")" 2
    same "$version: models that are none" "$app" --ort "$library" --model "$models/broken.onnx" \
        --model "$models/unknown.onnx" --model "$relu"
    is "$version: failed loads are marked" "$(rows "SELECT model FROM ml_event e JOIN attribute a ON a.slice = e.id
        WHERE e.category = 'load' AND a.key = 'status' AND a.value LIKE 'error: %' ORDER BY e.start_ns" | tr '\n' ' ')" \
        "broken unknown "

    same "$version: changing shapes" "$app" --ort "$library" --model "$relu" --runs 6 --shape x=1x4 --shape x=2x4 \
        --shape x=8x4
    is "$version: shapes in turn" "$(attributes inference shapes)" "x:1x4 x:2x4 x:8x4 x:1x4 x:2x4 x:8x4"
    is "$version: batches in turn" "$(attributes inference batch)" "1 2 8 1 2 8"

    same "$version: three loads" "$app" --ort "$library" --model "$relu" --runs 2 --loads 3
    is "$version: sessions of inferences" "$(attributes inference session)" "1 1 2 2 3 3"
    is "$version: one model" "$(rows "SELECT count(*) FROM model WHERE name = 'relu'")" 1

    same "$version: a provider that is not there" "$app" --ort "$library" --model "$relu" --runs 2 --provider XNNPACK --cuda
    matches "$version: asked for" "$(rows "SELECT requested_devices FROM model WHERE name = 'relu'")" \
        'XNN.*,CUDA.*,CPUExecutionProvider$'
    is "$version: what it got" "$(property relu actual_devices)" CPUExecutionProvider
    is "$version: with why" "$(rows "SELECT count(*) FROM model_property WHERE key LIKE 'requested_failed.%'")" 2
    is "$version: nodes there" "$(rows "SELECT DISTINCT value FROM model_property WHERE key LIKE 'nodes.CUDA%'")" 0
    is "$version: a failed preparation for each" "$(rows "SELECT count(*) FROM ml_event e JOIN attribute a
        ON a.slice = e.id WHERE e.category = 'prepare-ep' AND a.key = 'status' AND a.value LIKE 'error: %'")" 2

    same "$version: CPU fallback forbidden" "$app" --ort "$library" --model "$relu" \
        --config session.disable_cpu_ep_fallback=1

    rm -f "$T/ready.onnx"
    same "$version: optimized model saved" "$app" --ort "$library" --model "$models/fusable.onnx" --optimized "$T/ready.onnx"
    is "$version: that load is cold" "$(rows "SELECT specialization FROM ml_event WHERE category = 'load'")" cold
    same "$version: and used" "$app" --ort "$library" --model "$T/ready.onnx" --level 0
    is "$version: that one is not" "$(rows "SELECT specialization FROM ml_event WHERE category = 'load'")" precompiled
    is "$version: nothing specialized in it" "$(counts)" "inference 1, load 1"

    mkdir -p "$T/profiles"
    for how in plain recorded; do
        if [ $how = plain ]; then set --; else set -- "$INFEROGRAM" record -q -f --ops=1 -o "$trace" --; fi
        "$@" "$app" --ort "$library" --model "$chain" --runs 5 --profile "$T/profiles/own" >"$T/stdout" 2>&1
        # shellcheck disable=SC2012 # names without blanks
        python3 - "$(ls -t "$T"/profiles/own* | head -n 1)" >"$T/profile.$how" 2>&1 <<'PYTHON'
import json, sys
for event in json.load(open(sys.argv[1])):
    print(event["cat"], event["name"], event["args"].get("node_index"), event["args"].get("provider"))
PYTHON
        matches "$version: the program's own profile, $how" "$(cat "$T/stdout")" '^profile '
    done
    is "$version: is complete" "$(grep -c n19_kernel_time "$T/profile.plain")" 5
    ok "$version: and the same with us" cmp "$T/profile.plain" "$T/profile.recorded"
    matches "$version: operators stand aside" "$(instrument operators)" '^unavailable: '
done

same "1.30.0: RunAsync" "$app" --ort "$new" --model "$relu" --runs 30 --async --intra 2
is "1.30.0: spans" "$(rows "SELECT count(*), sum(unfinished) FROM async_span WHERE location IN ($inference_locations)")" 30,0
same "1.30.0: failing RunAsync" "$app" --ort "$new" --model "$relu" --runs 4 --async --intra 2 --wrong-every 2
is "1.30.0: spans of those" "$(rows "SELECT count(*), sum(unfinished) FROM async_span WHERE location IN ($inference_locations)")" 4,0
if have ort-node-1.17.0; then
    same "1.17.0: RunAsync" "$app" --ort "$(ort 1.17.0)" --model "$relu" --runs 30 --async --intra 2
    is "1.17.0: spans" "$(rows "SELECT count(*), sum(unfinished) FROM async_span WHERE location IN ($inference_locations)")" 30,0
fi

same "1.30.0: a policy" "$app" --ort "$new" --model "$relu" --policy 2
is "1.30.0: the policy" "$(property relu policy)" PREFER_NPU
is "1.30.0: nodes" "$(property relu nodes.CPUExecutionProvider)" 1
is "1.30.0: source of placement" "$(property relu placement.source)" "assignment info"

same "two models" "$app" --ort "$new" --model "$relu" --model "$chain" --runs 10
is "two models: each its own" "$(rows "SELECT model, count(*) FROM ml_event WHERE category = 'inference'
    GROUP BY model ORDER BY model" | tr '\n' ' ')" "chain,10 relu,10 "
same "two files, one content but for the name" "$app" --ort "$new" --model "$relu" --model "$models/twins.onnx"
is "two identities" "$(rows "SELECT count(DISTINCT content_id) FROM model WHERE name IN ('relu', 'twins')")" 2

same "two runtimes in one process" "$app" --ort "$old" --model "$relu" --ort "$new" --model "$chain" --runs 10
is "two runtimes: kept apart" "$(rows "SELECT m.name, m.runtime, count(*) FROM ml_event e JOIN model m ON m.name = e.model
    WHERE e.category = 'inference' GROUP BY 1, 2 ORDER BY 1" | tr '\n' ' ')" \
    "chain,ONNX Runtime 1.30.0,10 relu,ONNX Runtime 1.14.0,10 "
is "two runtimes: two instruments" "$(rows "SELECT count(*) FROM instrument WHERE name LIKE 'ONNX Runtime 1.%' AND
    state = 'on'")" 2
is "two runtimes: sessions have numbers of their own" "$(rows "SELECT count(DISTINCT a.value) FROM attribute a
    JOIN ml_event e ON e.id = a.slice WHERE e.category = 'load' AND a.key = 'session'")" 2

if sanitized; then
    skip "a program linked with it" "needs an ordinary build"
else
    for version in 1.14.0 1.30.0; do
        # shellcheck disable=SC2086 # the compiler may be two words
        ok "$version: link" $CC -D_GNU_SOURCE -I"$SOURCE_DIR/src" -o "$T/linked" "$SOURCE_DIR/tests/programs/ort_app.c" \
            "$SOURCE_DIR/tests/programs/ort_linked.c" "$(ort $version)" -lpthread \
            "-Wl,-rpath,$(dirname "$(readlink -f "$(ort $version)")")"
        same "$version: a program linked with it" "$T/linked" --ort linked --model "$relu" --runs 9
        is "$version: counted" "$(counts)" "inference 9, load 1, specialization 1"
        is "$version: named" "$(rows "SELECT DISTINCT runtime FROM model WHERE name = 'relu'")" "ONNX Runtime $version"
    done
fi
done_testing
