#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --gpu: all work of a HIP program, where it belongs, also if it forks, is killed, or runs already.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"
. "$SOURCE_DIR/tests/e2e/gpu_rocm_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

rocm "kernels" 50 4
is "kernels: the instrument" "$(instrument)" "on: rocprofiler-sdk 1.0: kernels, copies"
is "kernels: nothing is lost" "$(dropped)" 0
is "kernels: all work" "$(rows "SELECT kind, name, count(*) FROM gpu_slice GROUP BY 1, 2 ORDER BY 1, 2")" \
    "kernel,__amd_rocclr_fillBufferAligned,50
kernel,in_graph,150
kernel,relu,100
kernel,void net::gemm<float>(float*, int),100
memcpy,memcpy DtoH,50
memcpy,memcpy HtoD,50
memcpy,memcpy PtoP,50"
is "kernels: all calls" "$(rows "SELECT name, kind, count(*), sum(slices) FROM gpu_call GROUP BY 1, 2 ORDER BY 1")" \
    "hipGraphLaunch,graph,50,150
hipLaunchKernel,kernel,200,200
hipMemcpyAsync,memcpy,150,150
hipMemsetAsync,memset,50,50
hipStreamSynchronize,sync,50,0"
is "kernels: each has its launch" "$(rows "SELECT count(*) FROM gpu_slice WHERE launch_slice IS NULL")" 0
is "kernels: none begins before its launch" \
    "$(rows "SELECT count(*) FROM gpu_slice WHERE start_ns < launch_start_ns")" 0
is "kernels: each in the inference that launched it" \
    "$(rows "SELECT count(*), min(n), max(n) FROM (SELECT inference, count(*) AS n FROM gpu_slice
        WHERE model = 'net' GROUP BY inference)")" "50,11,11"
is "kernels: layers are in their zone, all else in none" \
    "$(rows "SELECT coalesce(zone, ''), launch_name, count(*) FROM gpu_slice GROUP BY 1, 2 ORDER BY 1, 2")" \
    ",hipGraphLaunch,150
,hipMemcpyAsync,150
,hipMemsetAsync,50
layer,hipLaunchKernel,200"
is "kernels: shapes and bytes" "$(rows "SELECT DISTINCT kind, shape, bytes FROM gpu_slice ORDER BY 1, 2, 3")" \
    "kernel,grid 1x1x1 block 64x1x1 registers 40 shared 1024+0,
kernel,grid 4x1x1 block 64x1x1 registers 40 shared 1024+0,
kernel,grid 8x2x1 block 256x1x1 registers 40 shared 1024+2048,
memcpy,,512
memcpy,,2048"
is "kernels: queues are tracks, and copies" \
    "$(rows "SELECT name, api, device_name, device_id, slices FROM gpu_stream ORDER BY 1")" \
    "GPU 0 copies,HIP,Stub Instinct,0000:03:00.0 node 1,150
GPU 0 stream 1,HIP,Stub Instinct,0000:03:00.0 node 1,250
GPU 0 stream 14,HIP,Stub Instinct,0000:03:00.0 node 1,150"
lacks "kernels: clocks are not off" "$("$INFEROGRAM" report --json "$trace")" before_call

rocm "threads" 200 4 threads
is "threads: each in the inference that launched it" \
    "$(rows "SELECT count(*), min(n), max(n) FROM (SELECT inference, count(*) AS n FROM gpu_slice
        WHERE model = 'net' GROUP BY inference)")" "400,11,11"
is "threads: in the inference by time, too" \
    "$(rows "SELECT count(*) FROM gpu_slice g JOIN slice s ON s.id = g.inference
        WHERE g.launch_start_ns < s.start_ns OR g.launch_start_ns > s.start_ns + s.dur_ns")" 0

for trouble in below numbers; do
    export STUB_ROCM=$trouble
    rocm "$trouble" 20 4
    is "$trouble: each has its launch" "$(rows "SELECT count(*), count(launch_slice) FROM gpu_slice")" "220,220"
done
unset STUB_ROCM

record_options="--gpu full --no-sample --no-resources"
rocm "memory" 5 4 memory
is "memory: the instrument" "$(instrument)" "on: rocprofiler-sdk 1.0: kernels, copies, memory"
is "memory: all of it" "$(rows "SELECT name, count(*), sum(bytes) FROM gpu_slice WHERE kind = 'memory' GROUP BY 1")" \
    "allocate,7,5439488
free,6,5373952"
is "memory: what it adds up to" "$(rows "SELECT name, max(value), count(*) FROM counter GROUP BY 1")" \
    "gpu 0 allocated bytes,1245184,13"
is "memory: all work is there, too" "$(rows "SELECT count(*) FROM gpu_slice WHERE kind <> 'memory'")" 55
export STUB_ROCM=memoryless
rocm "no records of memory" 5 4 memory
is "no records of memory: said" "$(instrument)" \
    "on: rocprofiler-sdk 1.0: kernels, copies; this rocprofiler-sdk does not tell of memory"
is "no records of memory: all work" "$(rows "SELECT count(*) FROM gpu_slice")" 55
record_options="--gpu kernels --no-sample --no-resources"

rocm "fork" 20 4 fork
is "fork: all work of the parent" "$(rows "SELECT count(*), count(launch_slice) FROM gpu_slice")" "231,231"

# shellcheck disable=SC2086 # options
"$INFEROGRAM" record -q $record_options -f -o "$trace" -- "$PROGRAMS/rocm_app" 1000 4 kill >killed.out 2>killed.err
is "killed: its status and output are its own" "$? $(cat killed.out killed.err)" "137 1000"
ok "killed: work is there but for the last moments" test "$(rows "SELECT count(*) FROM gpu_slice")" -ge 5500

# Armed, and nobody records; then recorded later: names of kernels are known from before.
status=0
ROCPROFILER_REGISTER_LIBRARY=$rocm_hook ROCP_TOOL_LIBRARIES=$rocm_hook "$PROGRAMS/rocm_app" 20 4 >armed.out \
    2>armed.err || status=$?
is "armed: same output and exit status" "$status $(cat armed.out armed.err)" "0 20"
spawn env ROCPROFILER_REGISTER_LIBRARY="$rocm_hook" ROCP_TOOL_LIBRARIES="$rocm_hook" "$PROGRAMS/rocm_app" 0 4 await \
    >await.out 2>await.err
app=$spawned
until_true 60 grep -q memfd:inferogram "/proc/$app/maps"
until_true 60 grep -q inferogram-rocm "/proc/$app/maps"
ok "attached" "$INFEROGRAM" record --no-sample --no-resources --pid "$app" --duration 1 -q -f -o "$trace"
ended "$app"
is "attached: the program's status is its own" "$status $(cat await.err)" "0 "
is "attached: the instrument" "$(instrument)" "on: rocprofiler-sdk 1.0: kernels, copies"
is "attached: all kernels have names" "$(rows "SELECT DISTINCT name FROM gpu_slice WHERE kind = 'kernel' ORDER BY 1")" \
    "__amd_rocclr_fillBufferAligned
in_graph
relu
void net::gemm<float>(float*, int)"
is "attached: whose launch was seen, but for the first moments" "$(rows "SELECT count(*) FROM gpu_slice
    WHERE launch_slice IS NULL AND start_ns > (SELECT min(start_ns) + 50000000 FROM gpu_call)")" 0

record_options="--gpu off --no-sample --no-resources"
rocm "off" 5 4
is "off: no work" "$(rows "SELECT count(*) FROM gpu_slice")" 0

done_testing
