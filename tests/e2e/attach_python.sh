#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --pid of Python programs, whose ONNX Runtime is inside of a module: every run, loads, names that are right
# or none, operators; and exceptions reach the program as without us.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need silero
cd "$T" || exit 1
silero=$(cached silero)/silero_vad_v5.onnx
program=$SOURCE_DIR/tests/runtimes/steady.py
python3 "$SOURCE_DIR/tests/runtimes/make_failing.py" failing || exit 99
head -c 4000 "$silero" >cut.onnx
# shellcheck disable=SC2016 # one word each
failing="$T/failing/gather.onnx $T/failing/reshape.onnx $T/failing/inside.onnx $T/cut.onnx $models/unknown.onnx \
    $models/broken.onnx /nowhere/model.onnx"

runs_again() { grep -q '^again$' "$T/steady.out"; }
for version in 1.20.1 1.31.1; do
    if ! have "python-$version"; then
        skip "Python $version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    python=$(cached "python-$version")/bin/python
    name="Python $version"

    # What is raised without us.
    # shellcheck disable=SC2086 # a list
    steady py.log "$python" "$program" "$silero" py.log $failing
    kill -HUP "$steady"
    until_true 60 runs_again
    settle "$steady"
    sed '/^ready /d; /^again$/d' "$T/steady.out" >raised
    ok "$name: eight different exceptions" test "$(grep -c '^[A-Za-z]*: ' raised)" -eq 8

    for options in "" --ops=1; do
        what="$name${options:+ $options}"
        rm -f py.log
        # shellcheck disable=SC2086 # a list
        steady py.log "$python" "$program" "$silero" py.log $failing
        # shellcheck disable=SC2086 # a list
        recorder -f -o "$trace" $options --pid "$steady"
        until_recorded 100
        kill -HUP "$steady"
        until_true 60 runs_again
        kill -INT "$recorder"
        ended "$recorder"
        is "$what: recorded" "$status" 0
        ok "$what: goes on" tap_alive "$steady"
        settle "$steady"
        sed '/^ready /d; /^again$/d' "$T/steady.out" >"raised$options.now"
        is "$what: the same exceptions" "$(sort "raised$options.now")" "$(sort raised)"
        all_there "$what" py.log 20
        is "$what: the instrument" "$(instrument "onnxruntime (Python) $version")" "on: attached by uprobes (BPF)"
        is "$what: nothing lost" "$(rows "SELECT dropped FROM trace_info")" 0
        is "$what: what ran" "$(rows "SELECT DISTINCT model FROM ml_event WHERE category = 'inference' ORDER BY 1" |
            tr '\n' ' ')" "gather inside reshape silero_vad_v5 "
        is "$what: its runtime" "$(rows "SELECT DISTINCT runtime FROM model")" "ONNX Runtime $version"
        # Four succeed: three that fail when they run, and the first one again.
        is "$what: loads" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'load'")" 8
        is "$what: loads that failed" "$(rows "SELECT count(*) FROM attribute a JOIN ml_event e ON e.id = a.slice
            WHERE e.category = 'load' AND a.key = 'status'")" 4
        is "$what: what was loaded, by name" "$(rows "SELECT model FROM ml_event WHERE category = 'load' ORDER BY start_ns" |
            tr '\n' ' ')" "gather reshape inside cut unknown broken model silero_vad_v5 "
        is "$what: names that are known, not inferred" "$(rows "SELECT DISTINCT model FROM model_property
            WHERE key = 'inferred'")" silero_vad_v5
        is "$what: two parts of a load" "$(rows "SELECT s.name, count(*) FROM slice s JOIN slice p ON p.id = s.parent_id
            WHERE s.kind = 'zone' AND p.category = 'load' GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" "initialize,4 read model,8 "
        note "$what: $(rows "SELECT model, category, count(*) FROM ml_event GROUP BY 1, 2" | tr '\n' ' ')"
    done

    # Operators, as its own profile has them; failing runs have none, or those up to the failure.
    cat >profile.py <<'EOP'
import sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.enable_profiling = True
options.profile_file_prefix = sys.argv[2]
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
for _ in range(3):
    session.run(None, {'input': numpy.zeros([1, 512], numpy.float32), 'state': numpy.zeros([2, 1, 128], numpy.float32),
                       'sr': numpy.array(16000, numpy.int64)})
print(session.end_profiling())
EOP
    profile=$("$python" profile.py "$silero" "$T/profile-$version") || exit 99
    python3 "$SOURCE_DIR/tests/runtimes/ops_of_profile.py" "$profile" 1 >expected
    rows "SELECT kind || '|' || thread || '|' || start_ns || '|' || end_ns || '|' || self_ns || '|' || name || '|' ||
          coalesce(function, '') FROM slice WHERE (kind = 'op' OR category = 'inference') AND model = 'silero_vad_v5'" >ops.rows
    matches "$name: operators of the profile, in order" \
        "$(python3 "$SOURCE_DIR/tests/runtimes/compare_ops.py" ops.rows expected)" \
        "^[0-9]{2,} of [0-9]+ inferences, $(wc -l <expected) operators each, 1 in 1( or 2)?\$"
    matches "$name: the instrument for operators" "$(instrument operators)" '^on: every inference, uprobes'
done

if have python-1.20.1; then
    python=$(cached python-1.20.1)/bin/python
    rm -f py.log
    steady py.log "$python" "$program" "$silero" py.log
    mkdir -p cache
    exits "no helper" 1 env XDG_CACHE_HOME="$T/cache" IFG_ORT_HELPER=/nowhere \
        "$INFEROGRAM" record -f -o "$trace" --duration 200ms --pid "$steady"
    contains "no helper: said" "$(cat "$T/stderr")" "the Python package onnxruntime: /nowhere cannot be started"
    settle "$steady"
fi
done_testing
