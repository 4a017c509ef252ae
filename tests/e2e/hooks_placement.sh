#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where models run, with a provider that the program brings along (tests/programs/ort_stub_ep.c): nodes, operators,
# engine caches, preparation, and providers and devices that are not there. ONNX Runtime says where nodes go from 1.24 on.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.30.0
app=$PROGRAMS/ort_app
stub=StubExecutionProvider
cpu=CPUExecutionProvider
file=$PROGRAMS/ort_stub_ep.so
engines=$T/engines
mixed=$models/mixed.onnx
relus=$models/relus.onnx
mkdir "$engines"

value() {
    "$INFEROGRAM" report "$trace" --json >"$T/report.json"
    python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/report.json" "$1"
}

# The program with the stub. Options of ort_app follow; the model is the last.
stubbed() { # NAME VERSION ARGUMENTS
    stubbed_name=$1
    stubbed_version=$2
    shift 2
    same "$stubbed_name" "$app" --ort "$(ort "$stubbed_version")" --ep-library "$stub=$file" "$@"
}

# The same, and each time it begins without this part of its cache.
rebuilt() { # NAME PATH VERSION ARGUMENTS
    rebuilt_name=$1
    rebuilt_path=$2
    rebuilt_version=$3
    shift 3
    # shellcheck disable=SC2016 # for the shell that it starts
    same "$rebuilt_name" sh -c 'rm -rf "$1" && shift && exec "$@"' sh "$rebuilt_path" "$app" \
        --ort "$(ort "$rebuilt_version")" --ep-library "$stub=$file" "$@"
}

# Providers of the operators of one inference, in their order: "CPU Stub".
providers() {
    rows "WITH run AS (SELECT s.id, s.thread, s.start_ns, s.end_ns FROM slice s JOIN attribute a ON a.slice = s.id
              WHERE s.category = 'inference' AND a.key = 'ops' ORDER BY s.start_ns LIMIT 1)
          SELECT replace(a.value, 'ExecutionProvider', '') FROM slice o JOIN run ON o.thread = run.thread
              AND o.start_ns >= run.start_ns AND o.end_ns <= run.end_ns JOIN attribute a ON a.slice = o.id
          WHERE o.kind = 'op' AND a.key = 'provider' ORDER BY o.start_ns" | tr '\n' ' ' | sed 's/ $//'
}

prepared() { # PROVIDER KEY: values of its preparations, "-" where there is none
    rows "SELECT coalesce(k.value, '-') FROM ml_event e JOIN attribute p ON p.slice = e.id AND p.key = 'provider'
          LEFT JOIN attribute k ON k.slice = e.id AND k.key = '$2'
          WHERE e.category = 'prepare-ep' AND p.value = '$1' ORDER BY e.start_ns" | tr '\n' ' ' | sed 's/ $//'
}

load_state() { rows "SELECT specialization FROM ml_event WHERE category = 'load'"; }

# The same in Python.
is "Python: a saved compiled model is evidence" "$(python3 - "$SOURCE_DIR/src/hooks/python" "$T/net.onnx" <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from inferogram_hook import evidence
class Options:
    graph_optimization_level = 'ORT_ENABLE_ALL'
    def __init__(self, **entries):
        self.entries = {key.replace('__', '.'): value for key, value in entries.items()}
    def get_session_config_entry(self, key):
        return self.entries[key]
class Content:
    has_ep_context = is_ort_format = is_saved_by_ort = False
    size = 1
states = []
for options in (Options(ep__context_file_path=sys.argv[2] + '.named'), Options(ep__context_enable='1'), Options()):
    paths = evidence.context_paths(options, sys.argv[2])
    before = evidence.cache_files(paths)
    for path in paths[:1]:
        open(path, 'w').close()
    after = evidence.cache_files(paths)
    for old, new in ((before, after), (after, after)):
        state, why = evidence.judge(Content, options, ['OtherExecutionProvider'], [], old, new, paths)
        states.append(({evidence.COLD: 'cold', evidence.UNKNOWN: 'unknown'}[state]))
print(*states)
EOP
)" "cold unknown cold unknown unknown unknown"

for version in 1.24.3 1.25.1 1.30.0; do
    if ! have "ort-node-$version"; then
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    library=$(ort $version)
    record_options=
    rm -f "$engines"/*

    # Where nodes run.
    stubbed "$version: two providers" $version --model "$mixed" --runs 5
    contains "$version: the program has it" "$(cat "$T/recorded.out")" "provider $stub accepted"
    is "$version: nodes" "$(property mixed nodes.$stub) $(property mixed nodes.$cpu)" "4 8"
    is "$version: both work" "$(property mixed actual_devices)" "$stub,$cpu"
    is "$version: asked for" "$(rows "SELECT requested_devices FROM model WHERE name = 'mixed'")" "$stub,$cpu"
    is "$version: in the report" "$(value '[m["placement"][k] for m in d["models"] for k in ("actual", "nodes", "source")]')" \
        "[['$stub', '$cpu'], {'$stub': 4, '$cpu': 8}, 'assignment info']"
    lacks "$version: no fallback" "$(value '[f["id"] for f in d["findings"]]')" ep-fallback
    is "$version: without a cache it cannot be known" "$(load_state)" unknown
    checksum=$(grep checksum "$T/recorded.out")
    identity=$(rows "SELECT content_id FROM model WHERE name = 'mixed'")
    same "$version: the CPU alone" "$app" --ort "$library" --model "$mixed" --runs 5
    is "$version: reading it is a part of the load" "$(rows "SELECT p.category FROM slice s JOIN slice p
        ON p.id = s.parent_id WHERE s.name = 'read model'")" load
    is "$version: computes the same" "$(grep checksum "$T/recorded.out")" "$checksum"

    # How it got there.
    stubbed "$version: preparation" $version --model "$relus"
    is "$version: the library, then the provider" "$(prepared $stub library)" "$file -"
    is "$version: both went well" "$(prepared $stub status)" "- -"
    is "$version: before the load" "$(rows "SELECT count(*) FROM ml_event p JOIN ml_event l ON l.category = 'load' AND
        p.start_ns + p.dur_ns <= l.start_ns WHERE p.category = 'prepare-ep'")" 3
    same "$version: a library that is not there" "$app" --ort "$library" --ep-library "$stub=$T/none.so" --model "$relus" --runs 2
    matches "$version: marked" "$(prepared $stub status)" '^error: .*none\.so'
    is "$version: with its name" "$(prepared $stub library)" "$T/none.so"
    is "$version: runs all the same" "$(counts)" "inference 2, load 1, specialization 1"
    same "$version: a library that is none" "$app" --ort "$library" --ep-library "$stub=$mixed" --model "$relus" --runs 2
    matches "$version: marked too" "$(prepared $stub status)" '^error: '

    # A provider that takes nothing.
    stubbed "$version: it takes no node" $version --ep-option stub_ignore_nodes=1 --model "$mixed" --runs 5
    lacks "$version: options of providers make another model" \
        "$(rows "SELECT content_id FROM model WHERE name = 'mixed'")" "$identity"
    is "$version: none there" "$(property mixed nodes.$stub) $(property mixed nodes.$cpu)" "0 12"
    is "$version: only the CPU" "$(property mixed actual_devices)" "$cpu"
    is "$version: ep-fallback comes first" "$(value 'd["findings"][0]["id"]')" ep-fallback
    contains "$version: and says what runs" "$(value 'd["findings"][0]["title"]')" "0 of 12 nodes"
    same "$version: a policy without such a device" "$app" --ort "$library" --policy 2 --model "$mixed" --runs 5
    is "$version: the policy" "$(property mixed policy) $(property mixed actual_devices)" "PREFER_NPU $cpu"
    contains "$version: policy-fallback" "$(value '[f["id"] for f in d["findings"]]')" policy-fallback

    # Engines.
    rebuilt "$version: an engine is built" "$engines/engine.cache" $version --ep-option "stub_cache_path=$engines" --model "$mixed"
    is "$version: cold" "$(load_state)" cold
    contains "$version: because of the file" "$(attributes load why)" engine.cache
    stubbed "$version: it is there" $version --ep-option "stub_cache_path=$engines" --model "$mixed"
    is "$version: cached" "$(load_state)" cached
    contains "$version: because of that file" "$(attributes load why)" engine.cache
    rebuilt "$version: built in a run" "$engines/engine-run.cache" $version --ep-option "stub_cache_path=$engines" \
        --ep-option stub_build_in_run=1 --model "$mixed" --runs 3
    is "$version: not in the load" "$(load_state)" unknown
    is "$version: in the first inference" "$(rows "SELECT p.category, (SELECT count(*) FROM ml_event i WHERE
        i.category = 'inference' AND i.start_ns < p.start_ns) FROM slice s JOIN slice p ON p.id = s.parent_id
        WHERE s.category = 'specialization'")" inference,0
    matches "$version: of that session, because of that file" \
        "$(attributes specialization session) $(attributes specialization why)" '^1 .*engine-run\.cache'
    stubbed "$version: not built again" $version --ep-option "stub_cache_path=$engines" --ep-option stub_build_in_run=1 \
        --model "$mixed" --runs 3
    is "$version: no specialization" "$(counts)" "inference 3, load 1"
    rebuilt "$version: the cache has to be made" "$engines/new" $version --ep-option "stub_cache_path=$engines/new" \
        --model "$mixed"
    is "$version: that is cold" "$(load_state)" cold
    contains "$version: because of the file in it" "$(attributes load why)" engine.cache
    # Models as a provider compiled them. ONNX Runtime writes these, which the stub does in its place.
    compiled=$engines/compiled.onnx
    rebuilt "$version: a compiled model is saved" "$compiled" $version --ep-option "stub_compiled=$compiled" \
        --config "ep.context_file_path=$compiled" --model "$mixed"
    is "$version: that is cold as well" "$(load_state)" cold
    contains "$version: because of that model" "$(attributes load why)" compiled.onnx
    cp "$mixed" "$engines/ours.onnx"
    rebuilt "$version: a compiled model without a name" "$engines/ours_ctx.onnx_stub.bin" $version --config ep.context_enable=1 \
        --ep-option stub_ignore_nodes=1 --ep-option "stub_compiled=$engines/ours_ctx.onnx_stub.bin" --model "$engines/ours.onnx"
    is "$version: cold, too" "$(load_state)" cold
    contains "$version: because of the model beside it" "$(attributes load why)" ours_ctx.onnx
    cp "$mixed" "$engines/beside.onnx"
    rebuilt "$version: a model beside its engines" "$engines/engine-run.cache" $version --ep-option "stub_cache_path=$engines" \
        --ep-option stub_build_in_run=1 --model "$engines/beside.onnx" --runs 3
    is "$version: to read the model is not to read an engine" "$(load_state)" unknown
    is "$version: the engine is still seen" "$(counts)" "inference 3, load 1, specialization 1"
    rebuilt "$version: no cache, a model beside it" "$engines/new" $version --ep-option "stub_cache_path=$engines/new" \
        --ep-option stub_ignore_nodes=1 --model "$engines/beside.onnx"
    is "$version: nor is that" "$(load_state)" unknown

    # Operators.
    record_options=--ops=1
    stubbed "$version: operators" $version --model "$mixed" --runs 3
    is "$version: of three inferences" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'")" 36
    is "$version: each with its provider" "$(providers)" \
        "CPU Stub CPU CPU Stub CPU CPU Stub CPU CPU Stub CPU"
    is "$version: those of the CPU" "$(rows "SELECT DISTINCT s.function FROM slice s JOIN attribute a ON a.slice = s.id
        WHERE s.kind = 'op' AND a.key = 'provider' AND a.value = '$cpu' ORDER BY 1" | tr '\n' ' ')" "Cos Sin "
    is "$version: nodes as without operators" "$(property mixed nodes.$stub) $(property mixed nodes.$cpu)" "4 8"
    rebuilt "$version: operators and engines" "$engines/engine.cache" $version \
        --ep-option "stub_cache_path=$engines" --model "$mixed"
    is "$version: cold with operators" "$(load_state)" cold
    stubbed "$version: the CPU is forbidden and not needed" $version --config session.disable_cpu_ep_fallback=1 \
        --model "$relus" --runs 3
    contains "$version: it runs" "$(cat "$T/recorded.out")" "runs 3 ok 3 failed 0"
    is "$version: all there" "$(property relus actual_devices) $(property relus nodes.$stub)" "$stub 3"
    stubbed "$version: the CPU is forbidden and needed" $version --config session.disable_cpu_ep_fallback=1 --model "$mixed"
    contains "$version: refused" "$(cat "$T/recorded.out")" "session refused"
    stubbed "$version: four threads" $version --model "$mixed" --runs 64 --threads 4
    stubbed "$version: three sessions" $version --model "$mixed" --loads 3 --runs 2
    is "$version: a preparation for each" "$(prepared $stub library)" "$file - - -"
done
done_testing
