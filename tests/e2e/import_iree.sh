#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# IREE's device profiles: one that its own tools write for a real module, and files made by hand for what a CPU
# does not write (devices with a clock of their own, memory, counters).
# shellcheck disable=SC2034,SC2154 # shared with hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
corpus=$SOURCE_DIR/tests/corpus/import_ireeperf
cd "$T" || exit 99

value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <t.json; }
imported() { # NAME FILE [OPTION...]
    imported_name=$1
    imported_file=$2
    shift 2
    "$INFEROGRAM" import "$imported_file" -o "$trace" -f --json "$@" >t.json 2>err
    is "$imported_name: exit status" $? 0
}
losses() { value '" ".join("%s:%d@%d" % (r["reason"], r["count"], r["first_at"]) for r in d["lost"])'; }
changes() { value '" ".join("%s:%d@%d" % (r["reason"], r["count"], r["first_at"]) for r in d["changed"])'; }
slices() { rows "SELECT thread_name, name, start_ns, dur_ns FROM slice ORDER BY start_ns, thread_name, name"; }

# A device with a clock of its own: tick 1000 is the second 5, and 100 ticks are a microsecond.
imported "a device" "$corpus/gpu.jsonl"
is "a device: format" "$(value '(d["format"], d["first_at_unit"])')" "('ireeperf', 'line')"
is "a device: dispatches, and what is around them" "$(slices)" \
    "device 0 queue 0 on the device,execute,8000,17000
device 0 queue 0 on the device,main_dispatch_0_matmul,9000,10000
device 0,quantum_event,19000,1000
device 0 queue 0 on the device,main_dispatch_1_reduction,19000,5000"
is "a device: operators" "$(rows "SELECT group_concat(name, ' ') FROM slice WHERE kind = 'op'")" \
    "main_dispatch_0_matmul main_dispatch_1_reduction"
is "a device: arguments" "$(rows "SELECT key || '=' || value FROM attribute WHERE slice = (SELECT id FROM slice
    WHERE name = 'main_dispatch_0_matmul') AND key IN ('op_name', 'event_id', 'workgroup_size', 'start_tick') ORDER BY 1" |
    tr '\n' ' ')" "event_id=1 op_name=dispatch start_tick=2000 workgroup_size=[64,1,1] "
is "a device: counters" "$(rows "SELECT name, time_ns, value FROM counter WHERE name NOT LIKE '%pool%' ORDER BY time_ns, name")" \
    "device 0 clock.compute {x}, hertz,9000,1700000000
device 0 power.socket, milliwatts,9000,250.5
device 0 SQ WAVES,19000,64
device 0 TCC HIT [0],19000,7
device 0 TCC HIT [1],19000,8"
is "a device: memory" "$(rows "SELECT name, time_ns, value FROM counter WHERE name LIKE '%reserved'")" \
    "device 0 pool 3 bytes reserved,0,16384
device 0 pool 3 bytes reserved,1000,32768"
is "a device: memory events" "$(rows "SELECT count(*) FROM message WHERE text LIKE '%length: 16384%'")" 3
is "a device: what was lost, and on which line" "$(losses)" \
    "counter_not_number:1@18 not_valid:1@7 no_clock:1@8 unknown_record:1@23 dropped_before:12@21"
is "a device: what to note" "$(changes)" "unknown_kept:1@22 problems:1@21"
ok "a device: info" "$INFEROGRAM" info "$trace"
contains "a device: info has the losses" "$(cat "$T/stdout")" "12 records that IREE dropped"

# From a pipe, packed, and by name.
gzip -c "$corpus/gpu.jsonl" | "$INFEROGRAM" import - -o "$trace" -f >out 2>err
contains "a packed one from a pipe" "$(cat out)" "24 events of an IREE profile (gzip)"
cp "$corpus/gpu.jsonl" named.jsonl
ok "its own name" "$INFEROGRAM" import named.jsonl
ok "the trace is beside it" test -s named.ifg

# What is not such a file.
imported "hostile lines" "$corpus/hostile.jsonl"
contains "hostile lines: counted" "$(losses)" "not_json:3@7 cut_event:1@23"
imported "another schema" "$corpus/schema16.jsonl"
is "another schema: noted" "$(changes)" "other_schema:1@1"
exits "no schema" 2 "$INFEROGRAM" import "$corpus/no_schema.jsonl" --format ireeperf -o "$trace" -f
contains "no schema: the line" "$(cat "$T/stderr")" "line 1 is not the schema that an ireeperf-jsonl file begins with"
echo '{"traceEvents":[]}' >chrome.json
exits "a Chrome trace" 2 "$INFEROGRAM" import chrome.json --format ireeperf -o "$trace" -f
contains "a Chrome trace: the line" "$(cat "$T/stderr")" "line 1 is not the schema"
printf 'IRPF\001\006' >binary.ireeprof
exits "the profile itself" 2 "$INFEROGRAM" import binary.ireeprof -o "$trace" -f
contains "the profile itself: what to do" "$(cat "$T/stderr")" "as it was written; export the profile with 'iree-profile export"
echo text >text
exits "text" 2 "$INFEROGRAM" import text --format ireeperf -o "$trace" -f
contains "text: the line" "$(cat "$T/stderr")" "line 1 is not JSON"
exits "too many records" 1 "$INFEROGRAM" import "$corpus/gpu.jsonl" --max-events 3 -o "$trace" -f

# A real one.
if have iree-3.13.0; then
    tools=$(cached iree-3.13.0)/bin
    "$tools/iree-compile" --iree-hal-target-device=local --iree-hal-local-target-device-backends=vmvx \
        "$SOURCE_DIR/tests/runtimes/add.mlir" -o add.vmfb || fail "iree-compile"
    before=$(python3 -c 'import time; print(time.monotonic_ns())')
    ok "iree-run-module" "$tools/iree-run-module" --module=add.vmfb --device=local-task --function=add --input=4xf32=1 \
        --input=4xf32=2 --device_profiling_mode=queue-events,host-execution,executable-metadata \
        --device_profiling_output=add.ireeprof
    after=$(python3 -c 'import time; print(time.monotonic_ns())')
    ok "iree-profile export" "$tools/iree-profile" export --format=ireeperf-jsonl --output=add.jsonl add.ireeprof
    imported "real" add.jsonl
    is "real: nothing is lost" "$(losses)" ""
    is "real: every span of the file, to the nanosecond" "$(slices)" "$(python3 "$SOURCE_DIR/tests/import/iree_truth.py" add.jsonl)"
    is "real: the dispatch" "$(rows "SELECT name FROM slice WHERE kind = 'op'")" \
        "$(python3 -c 'import json,sys; print([r["key"] for r in map(json.loads, open("add.jsonl"))
            if r["record_type"] == "host_execution_event" and r["op"] == "dispatch"][0])')"
    is "real: it is inside the execution" "$(rows "SELECT p.name FROM slice s JOIN slice p ON p.id = s.parent_id WHERE s.kind = 'op'")" execute
    "$INFEROGRAM" info "$trace" --json >t.json
    is "real: on this machine's monotonic clock" "$(value "$before < d['begin_ns'] < d['end_ns'] < $after")" True
    ok "real: stats by operator" "$INFEROGRAM" stats "$trace" --by op
    contains "real: the model is called like the file" "$(rows "SELECT name, runtime FROM model")" "add,IREE"
else
    skip "a real profile" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
