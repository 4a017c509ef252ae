#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ep-fallback of real programs: a provider that claims no nodes by design is none, a provider that was refused and
# caught by the program is one, and the report says why.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
relu=$models/relu.onnx
cuda=CUDAExecutionProvider

value() {
    "$INFEROGRAM" report "$trace" --json >"$T/report.json"
    python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/report.json" "$1"
}

# Without the complaints of ONNX Runtime, which have the time in them.
quiet() { # NAME COMMAND...
    quiet_name=$1
    shift
    # shellcheck disable=SC2016 # for the shell that it starts
    same "$quiet_name" sh -c 'exec "$@" 2>/dev/null' sh "$@"
}

fell_back() { # NAME
    is "$1: ep-fallback comes first" "$(value 'd["findings"][0]["id"]')" ep-fallback
    matches "$1: the placement says who was refused, why, and who works" "$("$INFEROGRAM" report "$trace" | tr -s " \n" " ")" \
        'CUDA was requested and refused \(.+\); CPU runs all( [0-9]+)? nodes'
    matches "$1: the reason is in the trace" "$(property relu requested_failed.$cuda)" .
}

for version in 1.20.1 1.31.1; do
    have "python-$version" || { skip "Python $version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    python=$(cached "python-$version")/bin/python
    program=$SOURCE_DIR/tests/runtimes/python/fallback.py
    quiet "Python $version: all providers of the wheel" "$python" "$program" "$relu" available
    contains "Python $version: Azure is one of them" "$(rows "SELECT requested_devices FROM model")" Azure
    lacks "Python $version: that is no fallback" "$(value '[f["id"] for f in d["findings"]]')" ep-fallback
    quiet "Python $version: CUDA, caught" "$python" "$program" "$relu" caught
    if grep -q caught "$T/recorded.out"; then
        fell_back "Python $version"
        is "Python $version: both tries are in the trace" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'load'")" 2
    else
        skip "Python $version" "it raises nothing"
    fi
done

for version in 1.20.1 1.30.0; do
    have "ort-node-$version" || { skip "node $version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    quiet "C $version: CUDA, then other options" "$PROGRAMS/ort_app" --ort "$(ort $version)" --model "$relu" --runs 3 --cuda-first
    fell_back "C $version"
    is "C $version: the try is in the trace" "$(rows "SELECT count(*) FROM ml_event e JOIN attribute p ON p.slice = e.id
        WHERE e.category = 'prepare-ep' AND p.key = 'provider' AND p.value = '$cuda'")" 1
    command -v node >/dev/null || { skip "node $version" "tools: no node on this machine"; continue; }
    NODE_PATH=$(cached "ort-node-$version")/node_modules
    export NODE_PATH
    quiet "node $version: CUDA, caught" node "$SOURCE_DIR/tests/runtimes/fallback.js" "$relu"
    if grep -q caught "$T/recorded.out"; then
        fell_back "node $version"
    else
        skip "node $version" "it raises nothing"
    fi
done

done_testing
