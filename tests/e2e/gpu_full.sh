#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --gpu full: memory, pools and waits beside the work, and none of them where only work counts.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"

record_options="--gpu full --no-sample --no-resources"
levels() { # NAME: its values in the order of time
    rows "SELECT coalesce(cast(value AS INTEGER), 'unknown') FROM counter WHERE name = '$1' ORDER BY time_ns, id" |
        tr '\n' ' ' | sed 's/ $//'
}
device() { # EXPRESSION of the report's device
    "$INFEROGRAM" report --json "$trace" |
        python3 -c 'import json, sys; device = json.load(sys.stdin)["device"]; print('"$1"')'
}

gpu "full" 3 4 memory
is "full: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets, memory, waits"
is "full: nothing is lost" "$(dropped)" 0
is "full: memory and waits" \
    "$(rows "SELECT kind, name, count(*), coalesce(sum(bytes), '') FROM gpu_slice WHERE kind IN ('memory', 'sync')
        GROUP BY 1, 2 ORDER BY 1, 2")" \
    "memory,allocate,2,196608
memory,allocate from pool,3,3145728
memory,allocate pinned host,1,4096
memory,create pool,1,0
memory,destroy pool,1,0
memory,free,1,131072
memory,free pinned host,1,0
memory,free to pool,3,3145728
memory,trim pool,1,0
sync,context synchronize,3,
sync,event synchronize,3,
sync,stream synchronize,3,
sync,stream wait event,3,"
is "full: tracks" "$(rows "SELECT name, coalesce(stream, 'none'), slices FROM gpu_stream ORDER BY name")" \
    "GPU 0 memory,none,14
GPU 0 stream 13,13,9
GPU 0 stream 13 waits,13,3
GPU 0 stream 7,7,21
GPU 0 stream 7 waits,7,3
GPU 0 waits,none,6"
is "full: waits have the call that waits, and are inside it" \
    "$(rows "SELECT g.name, launch_name, count(*) FROM gpu_slice g WHERE kind = 'sync' AND start_ns >= launch_start_ns
        AND start_ns + dur_ns <= launch_start_ns + launch_dur_ns GROUP BY 1, 2 ORDER BY 1")" \
    "context synchronize,cuCtxSynchronize,3
event synchronize,cuEventSynchronize,3
stream synchronize,cuStreamSynchronize,3"
is "full: a wait is no work of its call" \
    "$(rows "SELECT name, sum(slices), sum(busy_ns) FROM gpu_call WHERE kind = 'sync' GROUP BY 1 ORDER BY 1")" \
    "cuCtxSynchronize,0,0
cuEventSynchronize,0,0
cuStreamSynchronize,0,0"

is "full: what the program has" "$(levels "gpu 0 allocated bytes")" \
    "65536 196608 1245184 196608 1245184 196608 1245184 196608 65536"
is "full: pinned memory of the host is another counter" "$(levels "gpu 0 pinned host bytes")" "4096 0"
is "full: the size of a pool" "$(levels "gpu 0 pool 1 size bytes")" "1048576 0"
is "full: what is used of it" "$(levels "gpu 0 pool 1 used bytes")" "1048576 0 1048576 0 1048576 0"
is "full: a pool that was made and destroyed" "$(levels "gpu 0 pool 0 size bytes")" "0"

is "full: only work counts as work" "$(device '(device["works"], device["streams"], device["without_call"])')" "(30, 2, 0)"
is "full: peaks" "$(device '[(m["name"], m["peak_bytes"], m["last_bytes"]) for m in device["memory"] if m["peak_bytes"]]')" \
    "[('gpu 0 allocated bytes', 1245184, 65536), ('gpu 0 pinned host bytes', 4096, 0), ('gpu 0 pool 1 size bytes', 1048576, 0), ('gpu 0 pool 1 used bytes', 1048576, 0)]"
contains "full: peaks in words" "$("$INFEROGRAM" report "$trace" | tr -s ' \n' ' ')" \
    "Device memory, peaks gpu 0 allocated 1.25 MB, gpu 0 pinned host 4.10 kB, gpu 0 pool 1 size 1.05 MB"
is "full: one wait in each inference, once" "$("$INFEROGRAM" report --json "$trace" |
    python3 -c 'import json, sys; mean = json.load(sys.stdin)["models"][0]["device"]["mean"]; print(mean["waits"], mean["kernels"])')" "1 7"
contains "full: info counts them apart" "$("$INFEROGRAM" info "$trace" | tr -s ' \n' ' ')" \
    "30 pieces of device work · 12 waits for devices · 14 changes of device memory"
"$INFEROGRAM" export "$trace" --format chrome -o "$T/chrome.json" >export.out
is "full: counters in an export" "$(python3 -c 'import json, sys
events = json.load(open(sys.argv[1]))
events = events["traceEvents"] if isinstance(events, dict) else events
print(max(e["args"]["value"] for e in events if e["ph"] == "C" and "gpu 0 allocated" in e["name"]))' "$T/chrome.json")" 1245184

export STUB_CUDA_DEVICES=2
gpu "several devices" 3 4 memory
is "several devices: waits know theirs by their context" \
    "$(rows "SELECT device, count(*) FROM gpu_slice WHERE kind = 'sync' GROUP BY 1")" "0,12"
unset STUB_CUDA_DEVICES

# Records of other versions: shorter ones, and another number for no stream.
export STUB_CUPTI_VERSION=13
gpu "CUDA 11.0" 3 4 memory
is "CUDA 11.0: the instrument" "$(instrument)" \
    "on: CUPTI interface 13: kernels, copies, sets, waits; this CUPTI does not tell of memory"
is "CUDA 11.0: waits" "$(rows "SELECT count(*) FROM gpu_slice WHERE kind = 'sync'")" 12
export STUB_CUPTI_VERSION=16
gpu "CUDA 11.5" 3 4 memory
is "CUDA 11.5: what the program has" "$(levels "gpu 0 allocated bytes")" \
    "65536 196608 1245184 196608 1245184 196608 1245184 196608 65536"
is "CUDA 11.5: pools without their use" \
    "$(rows "SELECT DISTINCT name FROM counter WHERE name LIKE '%pool%' ORDER BY 1")" "gpu 0 pool 0 size bytes
gpu 0 pool 1 size bytes"
for version in 22 130001 130401; do
    export STUB_CUPTI_VERSION=$version
    gpu "CUPTI $version" 3 4 memory
    is "CUPTI $version: memory on a stream, and on none" \
        "$(rows "SELECT g.name, coalesce(a.value, 'none'), count(*) FROM gpu_slice g LEFT JOIN attribute a
            ON a.slice = g.id AND a.key = 'stream' WHERE g.name LIKE 'allocate%' GROUP BY 1, 2 ORDER BY 1")" \
        "allocate,none,2
allocate from pool,13,3
allocate pinned host,none,1"
    is "CUPTI $version: what is used of a pool" "$(levels "gpu 0 pool 1 used bytes")" "1048576 0 1048576 0 1048576 0"
done
export STUB_CUPTI_VERSION=140000
gpu "a newer CUPTI" 3 4 memory
is "a newer CUPTI: what never moved" "$(levels "gpu 0 allocated bytes")" \
    "65536 196608 1245184 196608 1245184 196608 1245184 196608 65536"
unset STUB_CUPTI_VERSION

# Records that were lost may have been of memory: what the program has is not known any more.
export STUB_CUPTI=slow
gpu "buffers run out" 1 90000 memory
is "buffers run out: the counter ends" "$(levels "gpu 0 allocated bytes" | sed 's/.* //')" unknown
contains "buffers run out: the instrument" "$(instrument)" "memory (allocated bytes only until records were lost"

rm -f "$trace"
# Reading a record costs more than it may: memory and waits are left out, kernels are not.
export STUB_CUPTI=expensive
# shellcheck disable=SC2086 # options
"$INFEROGRAM" record -q $record_options --overhead 0.1 -o "$trace" -- "$PROGRAMS/gpu_app" 20 4 less >less.out 2>less.err
is "too expensive: the program is well" "$? $(cat less.err)" "0 "
count=$(cat less.out)
is "too expensive: the instrument" "$(instrument)" \
    "on: CUPTI 13.0: kernels, copies, sets; without memory and waits since they cost more than --overhead allows"
contains "too expensive: info" "$("$INFEROGRAM" info "$trace" | tr -s ' \n' ' ')" \
    "without memory and waits since they cost more than --overhead allows"
contains "too expensive: report" "$("$INFEROGRAM" report "$trace" | tr -s ' \n' ' ')" \
    "without memory and waits since they cost more than --overhead allows"
is "too expensive: nothing is lost" "$(dropped)" 0
is "too expensive: all kernels and copies" \
    "$(rows "SELECT kind, count(*) FROM gpu_slice WHERE kind NOT IN ('memory', 'sync') GROUP BY 1 ORDER BY 1")" \
    "kernel,$((count * 7))
memcpy,$((count * 2))
memset,$count"
is "too expensive: memory at first, and not of the last 20 inferences" \
    "$(rows "SELECT count(*) > 0 AND count(*) <= 2 * ($count - 20) FROM gpu_slice WHERE kind = 'memory'")" 1
is "too expensive: the same for waits" \
    "$(rows "SELECT count(*) > 0 AND count(*) <= $count - 20 FROM gpu_slice WHERE kind = 'sync'")" 1
is "too expensive: counters end" "$(levels "gpu 0 allocated bytes" | sed 's/.* //')" unknown

done_testing
