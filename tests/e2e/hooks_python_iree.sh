#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use IREE's Python runtime: what is recorded of them, and that they do not notice.
# shellcheck disable=SC2034,SC2154 # shared with hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
need_plain_build
need iree-3.13.0
runs=$SOURCE_DIR/tests/runtimes/python/iree_runs.py
mkdir "$T/place" && cd "$T/place" || exit 99
module=$T/place/add.vmfb
ok "iree-compile" "$(cached iree-3.13.0)/bin/iree-compile" --iree-hal-target-device=local \
    --iree-hal-local-target-device-backends=vmvx "$SOURCE_DIR/tests/runtimes/add.mlir" -o "$module"

# Events of each model, function and category: "MODEL.FUNCTION CATEGORY COUNT", in one line.
events() {
    rows "SELECT group_concat(line, ', ') FROM (SELECT model || '.' || function || ' ' || category || ' ' || count(*) AS line
          FROM ml_event WHERE category != 'prepare-ep' GROUP BY model, function, category ORDER BY 1)"
}
used_time() { awk '{ print $14 + $15 }' "/proc/$1/stat"; } # of a process, in hundredths of a second
has_used() { [ "$(used_time "$1")" -ge "$2" ]; }
failures() { attributes inference status | grep -o 'error: ' | wc -l; }

one_version() { # VERSION
    version=$1
    python=$(cached "iree-$version")/bin/python

    same "$version plain" "$python" "$runs" plain "$module" 50
    is "$version plain: events" "$(events)" "add.__init setup 1, add.add inference 50, add.add setup 50, add.main load 1"
    is "$version plain: each in the zone of its line" "$(rows "SELECT p.name, count(*) FROM slice s
        JOIN slice p ON p.id = s.parent_id WHERE s.category = 'inference' GROUP BY p.name")" "__main__.infer,50"
    is "$version plain: that line" "$(rows "SELECT DISTINCT function, line FROM location WHERE name = '__main__.infer'")" \
        "infer,$(grep -n 'module.add(X, X)' "$runs" | head -n 1 | cut -d: -f1)"
    is "$version plain: set-up before each" "$(rows "SELECT count(DISTINCT i.id) FROM slice i JOIN slice s
        ON s.parent_id = i.parent_id AND s.category = 'setup' AND s.end_ns <= i.start_ns WHERE i.category = 'inference'")" 50
    is "$version plain: shapes" "$(inference_attributes shapes)" "arg0:4 arg1:4 50"
    is "$version plain: the load" "$(attributes load specialization)" precompiled
    is "$version plain: the model" "$(rows "SELECT name, path, runtime, requested_devices, actual_devices FROM model")" \
        "add,$module,IREE $version,local-task,local-task"
    is "$version plain: size and source" "$(property add file_bytes) $(property add source) $(property add graph_name)" \
        "$(stat -c %s "$module") file module"
    matches "$version plain: its content" "$(property add content)" '^[0-9a-f]{16}$'
    is "$version plain: the device got ready" "$(attributes prepare-ep provider)" local-task
    is "$version plain: the instrument" "$(rows "SELECT name, state, reason FROM instrument WHERE name LIKE 'iree%'")" \
        "iree.runtime (Python) $version,on,import hook"

    same "$version threads" "$python" "$runs" threads "$module" 500
    is "$version threads: 4000" "$(counts)" "inference 4000, load 5"
    is "$version threads: each in its thread" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'
        GROUP BY thread" | tr '\n' ' ')" "1000 1000 1000 1000 "

    same "$version errors" "$python" "$runs" errors "$module" 3
    is "$version errors: failed calls, and one that did not" "$(counts), $(failures) failed" "inference 10, load 3, 9 failed"
    contains "$version errors: in IREE's words" "$(attributes inference status)" "input1 shape dimension 0 mismatch"
    contains "$version errors: of the arguments" "$(attributes inference status)" "could not convert python value to VM: 'text'"
    contains "$version errors: a missing file" "$(attributes load status)" "error: "

    rm -f "$trace" forever.out
    spawn "$INFEROGRAM" record -q -o "$trace" -- "$python" "$runs" forever "$module" 100 >forever.out 2>forever.err
    until_true 60 grep -q ready forever.out || fail "$version killed: it is ready" "$(cat forever.err)"
    pid=$(sed -n 's/^ready //p' forever.out)
    used=$(used_time "$pid")
    until_true 60 has_used "$pid" $((used + 20)) || fail "$version killed: it works"
    kill -KILL "$pid"
    wait "$spawned"
    is "$version killed: every call, and the one that it was in" "$(rows "SELECT function, category, unfinished, count(*) FROM slice
        WHERE category IN ('load', 'inference') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" | tr '\n' ' ')" \
        "add,inference,0,100 main,load,0,1 spin,inference,1,1 "
}

# What differs less from one version to the next.
more_of_it() {
    same "$version ways to load" "$python" "$runs" ways "$module" 10
    is "$version ways to load: events" "$(events)" "add.__init setup 2, add.add inference 11, add.add setup 11, add.main load 2, \
module.__init setup 2, module.add inference 20, module.add setup 20, module.main load 2"
    is "$version ways to load: contexts" "$(inference_attributes session)" "1 10
2 10
3 10
4 1"

    same "$version without a FunctionInvoker" "$python" "$runs" direct "$module" 30
    is "$version without a FunctionInvoker: events" "$(events)" "add.__init setup 1, add.add inference 30, add.main load 1"
    is "$version without a FunctionInvoker: the device" "$(property add actual_devices)" local-sync

    # Tracebacks are the same from Python 3.11 on.
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        for case in uncaught unconverted missing no_device; do
            same "$version an error that nobody catches, $case" "$python" "$runs" "$case" "$module"
        done
    fi

    same "$version fork" "$python" "$runs" fork "$module" 20
    is "$version fork: events" "$(counts)" "inference 41, load 1"
}

one_version 3.13.0
more_of_it
same "compiled in the program" "$python" "$runs" compile "$module" 5
is "compiled: events" "$(rows "SELECT model, category, count(*) FROM ml_event WHERE category IN ('specialization', 'load', 'inference')
    GROUP BY 1, 2 ORDER BY 1, 2" | tr '\n' ' ')" \
    "compiled,inference,5 compiled,load,1 compiled,specialization,2 module,specialization,1 "
is "compiled: one model is that of the load" "$(rows "SELECT count(*) FROM model WHERE name = 'compiled'")" 2
contains "compiled: what was refused" "$(attributes specialization status)" "error: "
is "compiled: the instrument" "$(instrument 'iree.compiler%')" "on: import hook"
record_options=--ops
same "operators" "$python" "$runs" plain "$module" 5
record_options=
contains "operators: why there are none" "$(instrument 'operators of IREE')" "unavailable: IREE's Python interface"
ok "report" "$INFEROGRAM" report "$trace"
contains "report: the runtime" "$(cat "$T/stdout")" "IREE 3.13.0"

# A package that is called the same and is not what we know.
mkdir -p other/iree/runtime
echo "class _binding: pass" >other/iree/runtime/__init__.py
PYTHONPATH=$T/place/other
export PYTHONPATH
same "another package" python3 -c "import iree.runtime; print(iree.runtime._binding.__name__)"
unset PYTHONPATH
is "another package: it is left alone" "$(instrument 'iree.runtime%')" \
    "unavailable: this iree.runtime has no VmContext.invoke that this Inferogram knows"

if have iree-3.12.0; then
    one_version 3.12.0
else
    skip "3.12.0" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
