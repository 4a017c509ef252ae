#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --ops with the onnxruntime wheel: the operators that ORT's own profile has, and a program that does not notice.
# shellcheck disable=SC2034,SC2154 # shared with hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
runs=$SOURCE_DIR/tests/runtimes/python/runs.py
mkdir "$T/place" && cd "$T/place" || exit 99

operators() { # of the inference number $1 that has any, in the order in which they ended
    rows "WITH run AS (SELECT s.id, s.thread, s.start_ns, s.end_ns FROM slice s JOIN attribute a ON a.slice = s.id
              WHERE s.category = 'inference' AND a.key = 'ops' ORDER BY s.start_ns LIMIT 1 OFFSET $1)
          SELECT o.name || '|' || o.function FROM slice o JOIN run ON o.thread = run.thread
              AND o.start_ns >= run.start_ns AND o.end_ns <= run.end_ns
          WHERE o.kind = 'op' ORDER BY o.end_ns, o.depth DESC, o.id" |
        python3 -c 'import csv, sys; print("\n".join(row[0] for row in csv.reader(sys.stdin)))'
}

own_profile() { # MODEL: ORT's own, of the third run
    "$python" - "$1" <<'END' >"$T/profile"
import sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.enable_profiling = True
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
for _ in range(3):
    session.run(None, {'x': numpy.zeros((1, 4), 'float32')})
print(session.end_profiling())
END
    python3 "$SOURCE_DIR/tests/runtimes/ops_of_profile.py" "$(cat "$T/profile")" 2
    rm -f "$(cat "$T/profile")"
}

one_version() { # VERSION HOW
    version=$1
    python=$(cached "python-$version")/bin/python
    record_options=--ops=1
    for model in relu chain; do
        own_profile "$models/$model.onnx" >"$T/wanted"
        same "$version $model" "$python" "$runs" plain "$models/$model.onnx" 5
        operators 1 >"$T/got"
        if [ -s "$T/wanted" ] && cmp -s "$T/wanted" "$T/got"; then
            pass "$version $model: the operators of ORT's own profile, in its order"
        else
            fail "$version $model: the operators of ORT's own profile, in its order" \
                "$(diff "$T/wanted" "$T/got" | head -n 12)"
        fi
        is "$version $model: each inside an inference" "$(rows "SELECT count(*) FROM slice s LEFT JOIN slice p
            ON p.id = s.parent_id WHERE s.kind = 'op' AND coalesce(p.category, '') != 'inference'")" 0
        is "$version $model: how" "$(property "$model" ops.how)" "$2"
        matches "$version $model: the instrument" "$(instrument operators)" '^on: '
        is "$version $model: no file is left" "$(ls)" ""
    done
    for case in two errors binding options fork inherited subclass; do
        same "$version $case" "$python" "$runs" $case "$models/relu.onnx" 3
        rm -f own*
        is "$version $case: no file is left" "$(ls)" ""
    done
    same "$version threads" "$python" "$runs" threads "$models/chain.onnx" 100
    is "$version threads: whole inferences" "$(rows "SELECT count(*) % 20 FROM slice WHERE kind = 'op'")" 0
}

for version in 1.20.1 1.31.1; do
    case $version in
    1.20.1) how='session profile' ;;
    *) how=observer ;;
    esac
    if have "python-$version"; then
        one_version "$version" "$how"
    else
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
    fi
done

if have python-1.31.1; then
    record_options=--ops=16
    same "every 16th" "$(cached python-1.31.1)/bin/python" "$runs" plain "$models/chain.onnx" 64
    is "every 16th: four of 64" "$(inference_attributes ops)" "1 4"
    is "every 16th: their operators" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'")" 80
fi
done_testing
