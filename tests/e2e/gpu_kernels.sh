#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --gpu: all work of a CUDA program, where it belongs.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"

gpu "kernels" 50 4
is "kernels: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets"
is "kernels: nothing is lost" "$(dropped)" 0
is "kernels: all work" "$(rows "SELECT kind, name, count(*) FROM gpu_slice GROUP BY 1, 2 ORDER BY 1, 2")" \
    "kernel,in_graph,150
kernel,relu,100
kernel,void net::gemm<float>(float*, int),100
memcpy,memcpy DtoH,50
memcpy,memcpy HtoD,50
memset,memset,50"
is "kernels: all calls" "$(rows "SELECT name, count(*), sum(slices) FROM gpu_call GROUP BY 1 ORDER BY 1")" \
    "cuGraphLaunch,50,150
cuLaunchKernel,200,200
cuMemcpyDtoHAsync,50,50
cuMemcpyHtoDAsync,50,50
cuMemsetD8Async,50,50
cuStreamSynchronize,50,0"
is "kernels: each has its launch" "$(rows "SELECT count(*) FROM gpu_slice WHERE launch_slice IS NULL")" 0
is "kernels: none begins before its launch" \
    "$(rows "SELECT count(*) FROM gpu_slice WHERE start_ns < launch_start_ns")" 0
is "kernels: each in the inference that launched it" \
    "$(rows "SELECT count(*), min(n), max(n) FROM (SELECT inference, count(*) AS n FROM gpu_slice
        WHERE model = 'net' GROUP BY inference)")" "50,10,10"
is "kernels: in the inference by time, too" \
    "$(rows "SELECT count(*) FROM gpu_slice g JOIN slice s ON s.id = g.inference
        WHERE g.launch_start_ns < s.start_ns OR g.launch_start_ns > s.start_ns + s.dur_ns")" 0
is "kernels: layers are in their zone, all else in none" \
    "$(rows "SELECT coalesce(zone, ''), launch_name, count(*) FROM gpu_slice GROUP BY 1, 2 ORDER BY 1, 2")" \
    ",cuGraphLaunch,150
,cuMemcpyDtoHAsync,50
,cuMemcpyHtoDAsync,50
,cuMemsetD8Async,50
layer,cuLaunchKernel,200"
is "kernels: shapes, bytes and graphs" \
    "$(rows "SELECT DISTINCT kind, shape, bytes, graph, graph_node FROM gpu_slice ORDER BY 1, 3, 4, 5")" \
    "kernel,grid 8x2x1 block 256x1x1 registers 40 shared 1024+2048,,,
kernel,grid 8x2x1 block 256x1x1 registers 40 shared 1024+2048,,5,1
kernel,grid 8x2x1 block 256x1x1 registers 40 shared 1024+2048,,5,2
kernel,grid 8x2x1 block 256x1x1 registers 40 shared 1024+2048,,5,3
memcpy,,2048,,
memset,,4096,,"
is "kernels: streams are tracks" "$(rows "SELECT device, stream, slices FROM gpu_stream ORDER BY stream")" "0,7,350
0,13,150"

lacks "kernels: clocks are not off" "$("$INFEROGRAM" report --json "$trace")" before_call

record_options="--gpu full --no-sample --no-resources"
gpu "full" 5 4
is "full: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets, memory, waits"
is "full: all work" "$(rows "SELECT count(*) FROM gpu_slice WHERE kind <> 'sync'")" 50

record_options="--gpu off --no-sample --no-resources"
gpu "off" 5 4
is "off: no work" "$(rows "SELECT count(*) FROM gpu_slice")" 0
is "off: no calls" "$(rows "SELECT count(*) FROM gpu_call")" 0

record_options="--gpu kernels --no-sample --no-resources"
export STUB_CUPTI=realtime
gpu "a CUPTI with its own clock" 20 4
is "a CUPTI with its own clock: all work" "$(rows "SELECT count(*), count(launch_slice) FROM gpu_slice")" "200,200"
is "a CUPTI with its own clock: in the recording" \
    "$(rows "SELECT count(*) FROM gpu_slice WHERE start_ns > 60000000000")" 0

export STUB_CUPTI=behind
gpu "a device whose clock is behind" 20 4
is "a device whose clock is behind: each has its launch and its inference" \
    "$(rows "SELECT count(*), count(launch_slice), count(DISTINCT inference) FROM gpu_slice WHERE model = 'net'")" "200,200,20"
is "a device whose clock is behind: the report says so" "$("$INFEROGRAM" report --json "$trace" |
    python3 -c 'import json, sys
device = json.load(sys.stdin)["device"]
print(device["before_call"], device["without_call"], device["before_call_ns"] <= 10000000)')" "200 0 True"
contains "a device whose clock is behind: in words" "$("$INFEROGRAM" report "$trace" | tr -s ' \n' ' ')" \
    "200 seem to begin before their launch, by up to"

# More than all buffers hold before anybody looks.
export STUB_CUPTI=slow
gpu "buffers run out" 1 90000
kept=$(rows "SELECT count(*) FROM gpu_slice")
ok "buffers run out: some work is lost" test "$(dropped)" -gt 0
is "buffers run out: and counted" "$((kept + $(dropped)))" 90006

done_testing
