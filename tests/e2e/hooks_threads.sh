#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 100,000 runs from four threads are 100,000 inferences, each in its thread; nothing is dropped and the program
# cannot tell.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.30.0
# Their rings hold less than all of it, and a recorder may have no CPU for so long: the program waits for it then.
record_options=--lossless
runs=100000
if sanitized; then runs=10000; fi

for version in 1.30.0 1.14.0; do
    if ! have "ort-node-$version"; then
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    same "$version: four threads" "$PROGRAMS/ort_app" --ort "$(ort $version)" --model "$models/relu.onnx" \
        --runs $runs --threads 4
    contains "$version: all went well" "$(cat "$T/recorded.out")" "runs $runs ok $runs failed 0"
    is "$version: inferences" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" $runs
    is "$version: of each thread" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'
        GROUP BY thread" | tr '\n' ' ')" "$((runs / 4)) $((runs / 4)) $((runs / 4)) $((runs / 4)) "
    is "$version: none inside or across another" "$(rows "SELECT count(*) FROM (SELECT start_ns < lag(start_ns + dur_ns)
        OVER (PARTITION BY thread ORDER BY start_ns) AS across FROM ml_event WHERE category = 'inference') WHERE across")" 0
    is "$version: all have their shapes" "$(inference_attributes shapes)" "x:1x4 $runs"
    is "$version: dropped, unfinished" "$(rows "SELECT dropped, unfinished FROM trace_info")" 0,0
    is "$version: losses" "$(rows "SELECT count(*) FROM loss WHERE count > 0")" 0
done

same "new tensors each time" "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/chain.onnx" --runs 2000 \
    --threads 4 --fresh
is "a set-up for each" "$(set_up)" 2000
is "on the thread of its inference" "$(rows "SELECT count(DISTINCT thread) FROM ml_event WHERE category = 'setup'")" 4

for version in 1.30.0 1.14.0; do
    have "ort-node-$version" || continue
    same "$version: sessions come and go" "$PROGRAMS/ort_app" --ort "$(ort $version)" --model "$models/chain.onnx" --crowd \
        --threads 4 --runs 40 --loads 20 --fresh
    # Four threads with 20 sessions of ten runs each, and the one that nobody runs.
    is "$version: loads, inferences" "$(counts)" "inference 800, load 81, specialization 81"
    is "$version: each inference has a session that was loaded" "$(rows "SELECT count(*) FROM (
        SELECT a.value FROM attribute a JOIN ml_event e ON e.id = a.slice WHERE a.key = 'session' AND e.category = 'inference'
        GROUP BY a.value HAVING count(*) = 10)")" 80
    is "$version: a set-up for each" "$(set_up)" 800
done
done_testing
