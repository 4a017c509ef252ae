#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --pid --ops: the operators of a program that runs already are those of ONNX Runtime's own profile, by
# name and in order, inside of their inferences; programs whose kernels fail do so as without us.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.20.1
cd "$T" || exit 1
python3 "$SOURCE_DIR/tests/runtimes/make_failing.py" failing || exit 99

# Inferences and operators of $trace, for compare_ops.py.
ops_rows() {
    rows "SELECT kind || '|' || thread || '|' || start_ns || '|' || end_ns || '|' || self_ns || '|' || name || '|' ||
          coalesce(function, '') FROM slice WHERE kind = 'op' OR category = 'inference'" >ops.rows
}
compare_ops() { ops_rows && python3 "$SOURCE_DIR/tests/runtimes/compare_ops.py" ops.rows expected; }
op_count() { rows "SELECT count(*) FROM slice WHERE kind = 'op'"; }
marked() {
    rows "SELECT count(*) || ' of ' || (SELECT count(*) FROM ml_event WHERE category = 'inference') FROM attribute a
          JOIN ml_event e ON e.id = a.slice WHERE e.category = 'inference' AND a.key = 'ops'"
}

# ---- a real model, on each version -------------------------------------------------------------------
have silero && silero=$(cached silero)/silero_vad_v5.onnx || silero=
for version in 1.14.0 1.17.0 1.20.1 1.24.3 1.30.0; do
    if ! command -v node >/dev/null || [ -z "$silero" ] || ! have "ort-node-$version"; then
        skip "node with $version" "runtimes: no node, or $(tail -n 1 "$T/fetch")"
        continue
    fi
    app --ort "$(ort "$version")" --runs 2 --shape input=1x512 --profile "$T/profile-$version" --model "$silero" >app.out ||
        exit 99
    python3 "$SOURCE_DIR/tests/runtimes/ops_of_profile.py" "$(sed -n 's/^profile //p' app.out)" 1 >expected
    NODE_PATH=$(cached "ort-node-$version")/node_modules
    export NODE_PATH
    rm -f node.log
    steady node.log node "$SOURCE_DIR/tests/runtimes/steady.js" "$silero" node.log
    ok "node $version" attach_until 20 --ops=1 --pid "$steady"
    nodes=$(wc -l <expected)
    result=$(compare_ops)
    matches "node $version: the operators of the profile, in order, inside of their inferences" "$result" \
        "^[0-9]{2,} of [0-9]+ inferences, $nodes operators each, 1 in 1\$"
    note "node $version: $result"
    matches "node $version: the instrument" "$(instrument operators)" '^on: every inference, uprobes; they cost '
    is "node $version: nothing lost" "$(rows "SELECT dropped FROM trace_info")" 0
    is "node $version: attributes" "$(rows "SELECT DISTINCT key FROM attribute a JOIN slice s ON s.id = a.slice
        WHERE s.kind = 'op' ORDER BY key" | tr '\n' ' ')" "node_index op_name "
    is "node $version: the model of all" "$(rows "SELECT DISTINCT model FROM slice WHERE kind = 'op'")" silero_vad_v5
    ok "node $version: a part of them" attach_until 50 --ops=10 --pid "$steady"
    result=$(compare_ops)
    matches "node $version: one of ten" "$result" "^[0-9]+ of [0-9]+ inferences, $nodes operators each, 1 in 10\$"
    note "node $version: $result; marked $(marked)"
    matches "node $version: the instrument says whose time that costs" "$(instrument operators)" \
        '^on: kept of every 10th inference, .* every kernel of every inference$'
    ok "node $version: goes on" tap_alive "$steady"
    settle "$steady"
    all_there "node $version: with a part of the operators" node.log 20
done

# ---- kernels that fail -------------------------------------------------------------------------------------
record_options="--hook uprobe --ops=1"
for version in 1.14.0 1.17.0 1.20.1 1.24.3 1.30.0 1.31.1; do
    if ! have "ort-node-$version" && ! have "python-$version"; then
        skip "kernels that fail, $version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    for failing in gather reshape inside; do
        same "$version: $failing fails" "$PROGRAMS/ort_app" --ort "$(ort "$version")" --runs 50 --pause-us 6000 --shape x=1x4 \
            --model "failing/$failing.onnx"
        is "$version: $failing: failures" "$(inference_attributes status)" "error 50"
        matches "$version: $failing: with the operators up to there" "$(rows "SELECT count(*), name FROM slice
            WHERE kind = 'op' GROUP BY name ORDER BY name" | tr '\n' ' ')" "50,fine "
    done
done

# ---- sessions that come and go, more than one thread, graphs inside of others --------------------------------
same "a session for each run" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --runs 1 --loads 60 --model "$models/mixed.onnx" \
    --model "$models/relus.onnx"
# A name is right, or the node has none: the session may be gone when it is read.
is "a session for each run: no operator of one model in the other" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'
    AND name NOT LIKE 'node %' AND substr(name, 1, 1) != substr(model, 1, 1)")" 0
is "a session for each run: all operators" "$(rows "SELECT model, count(*) FROM slice WHERE kind = 'op' GROUP BY 1
    ORDER BY 1" | tr '\n' ' ')" "mixed,720 relus,180 "
note "names of $(rows "SELECT sum(name NOT LIKE 'node %') || ' of ' || count(*) FROM slice WHERE kind = 'op'")"
same "four threads" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --threads 4 --runs 400 --pause-us 2000 --model "$models/mixed.onnx"
is "four threads: each operator once in each run" "$(rows "SELECT count(*), count(DISTINCT name), min(depth), max(depth)
    FROM slice WHERE kind = 'op'")" "4800,12,1,1"
same "RunWithBinding" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --binding --runs 20 --pause-us 2000 --model "$models/mixed.onnx"
is "RunWithBinding: operators" "$(op_count)" 240
same "an optimized graph" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --runs 20 --pause-us 10000 --model "$models/fusable.onnx"
note "an optimized graph: $(rows "SELECT name, function, count(*) FROM slice WHERE kind = 'op' GROUP BY 1, 2" | tr '\n' ' ')"
record_options=

# ---- where it cannot be had -----------------------------------------------------------------------------------
rm -f refused.log
steady refused.log "$PROGRAMS/ort_steady" refused.log 500 "$(ort 1.20.1)" "$models/relu.onnx"
mkdir -p cache
own_cache=${XDG_CACHE_HOME-}
XDG_CACHE_HOME=$T/cache
export XDG_CACHE_HOME
IFG_ORT_HELPER=/nowhere
export IFG_ORT_HELPER
ok "no helper: recording goes on" attach_until 5 --ops --pid "$steady"
matches "no helper: the instrument says why" "$(instrument operators)" \
    '^unavailable: ONNX Runtime 1.20.1: /nowhere cannot be started'
is "no helper: no operators" "$(op_count)" 0
is "no helper: no inference is marked" "$(inference_attributes ops)" ""
printf '#!/bin/sh\necho error the library is a strange one\nexit 1\n' >strange
chmod 755 strange
IFG_ORT_HELPER=$T/strange
ok "a helper that refuses: recording goes on" attach_until 20 --ops --pid "$steady"
unset IFG_ORT_HELPER
XDG_CACHE_HOME=$own_cache
[ -n "$own_cache" ] || unset XDG_CACHE_HOME
contains "a helper that refuses: the instrument says why" "$(instrument operators)" "strange one"
ok "a helper that refuses: inferences are there" test "$(rows "SELECT count(*) FROM ml_event")" -gt 5
settle "$steady"
all_there "where it cannot be had" refused.log 20
# ---- operators of the program's own: kernels are not probed ------------------------------------------
echo 'void *RegisterCustomOps(void *a, const void *b) { (void)a; (void)b; return 0; }' >custom.c
if ${CC:-cc} -shared -fPIC -o libcustom.so custom.c 2>cc.log; then
    LD_PRELOAD="$T/libcustom.so" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --runs 1000000 --pause-us 1000 \
        --ready custom.ready --model failing/gather.onnx >/dev/null 2>&1 &
    custom=$!
    tap_pids="$tap_pids $custom"
    until_true 60 test -e custom.ready
    ok "custom operators" attach_until 1 --ops=1 --pid "$custom"
    matches "custom operators: no operators, and why" "$(instrument operators)" \
        '^unavailable: .*operators of its own \(libcustom.so\)'
    matches "custom operators: inferences as ever" "$(rows "SELECT count(*) FROM slice WHERE category = 'inference'")" \
        '^[1-9]'
    ok "custom operators: the program goes on" tap_alive "$custom"
    tap_end_process "$custom"
else
    fail "a library is built" "$(cat cc.log)"
fi
done_testing
