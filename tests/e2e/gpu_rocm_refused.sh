#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The hook for rocprofiler-sdk where that is missing, refuses, or has other tools: the program is unharmed.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"
. "$SOURCE_DIR/tests/e2e/gpu_rocm_lib.sh"

# What cannot be is said.
refused() {
    rocm "$1" 20 4
    is "$1: said" "$(instrument)" "unavailable: $2"
    is "$1: no work" "$(rows "SELECT count(*) FROM gpu_slice")" 0
}
STUB_ROCM=locked refused "refused" "rocprofiler-sdk cannot tell the names of kernels: Configuration is locked (16)"
STUB_ROCM=start refused "not started" "rocprofiler-sdk cannot record kernels: error (1)"
STUB_ROCM=gpuless refused "no device" "rocprofiler-sdk lists no GPU"
unset STUB_ROCM
STUB_ROCM_VERSION=600 refused "an old one" "rocprofiler-sdk 0.6 is too old: 1.0 (ROCm 7.0) is understood"
STUB_ROCM_VERSION=20100 refused "a future one" "rocprofiler-sdk 2.1 is newer than is known: 1.0 (ROCm 7.0) is understood"
unset STUB_ROCM_VERSION
export STUB_ROCM=short
rocm "records that are too short" 20 4
is "records that are too short: are counted" "$(dropped) $(rows "SELECT count(*) FROM gpu_slice")" "220 0"
export STUB_ROCM=drops
rocm "records that were lost" 20 4
is "records that were lost: are counted" \
    "$(rows "SELECT count(*) + $(dropped), min($(dropped), 1) FROM gpu_slice")" "220,1"
unset STUB_ROCM

# Without rocprofiler-sdk, ROCm ends programs for which a tool is named; ours is there in its place.
LD_LIBRARY_PATH=$PROGRAMS
status=0
ROCP_TOOL_LIBRARIES=$rocm_hook "$PROGRAMS/rocm_app" 5 4 >alone.out 2>alone.err || status=$?
is "no rocprofiler-sdk: without ours it ends the program" "$status" 134
refused "no rocprofiler-sdk" "there is no librocprofiler-sdk, neither beside the program's ROCm libraries nor on this\
 machine; the package rocprofiler-sdk of ROCm 7.0 or later has it"

# It is found beside the library that loads it.
mkdir beside
cp "$PROGRAMS/librocprofiler-register.so.0" "$PROGRAMS/stub_rocprofiler.so" beside
mv beside/stub_rocprofiler.so beside/librocprofiler-sdk.so
LD_LIBRARY_PATH=$PROGRAMS
# shellcheck disable=SC2086 # options
LD_PRELOAD=$T/beside/librocprofiler-register.so.0 "$INFEROGRAM" record -q $record_options -f -o "$trace" -- \
    "$PROGRAMS/rocm_app" 20 4 >beside.out 2>beside.err
is "rocprofiler-sdk beside its loader" "$? $(cat beside.out beside.err) $(rows "SELECT count(*) FROM gpu_slice")" "0 20 220"

# The program has loaded it already: then ours is a tool, and nothing else.
# shellcheck disable=SC2086 # options
LD_PRELOAD=$PROGRAMS/stub_rocprofiler.so "$INFEROGRAM" record -q $record_options -f -o "$trace" -- \
    "$PROGRAMS/rocm_app" 20 4 >loaded.out 2>loaded.err
is "rocprofiler-sdk that is loaded" "$? $(cat loaded.out loaded.err) $(rows "SELECT count(*) FROM gpu_slice")" "0 20 220"
LD_LIBRARY_PATH=$with_sdk

# Another tool, before ours, and one that is loaded in place of rocprofiler-sdk.
export STUB_ROCM_TOOL="$T/tool"
for list in "$PROGRAMS/stub_rocm_tool.so" "$PROGRAMS/stub_rocm_tool.so:"; do
    export ROCP_TOOL_LIBRARIES="$list"
    rm -f tool
    rocm "another tool" 20 4
    is "another tool: was called both times, before ours" "$(cat tool)" "called 0
called 0"
    is "another tool: all work" "$(rows "SELECT count(*) FROM gpu_slice")" 220
done
unset ROCP_TOOL_LIBRARIES STUB_ROCM_TOOL
LD_LIBRARY_PATH=$PROGRAMS
export ROCPROFILER_REGISTER_LIBRARY="$T/sdk/librocprofiler-sdk.so"
rocm "another library in its place" 20 4
is "another library in its place: all work" "$(rows "SELECT count(*) FROM gpu_slice")" 220
unset ROCPROFILER_REGISTER_LIBRARY
LD_LIBRARY_PATH=$with_sdk

done_testing
