#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of work on AMD's GPUs share; read after gpu_lib.sh. HIP and rocprofiler-sdk are those of tests/programs,
# which need no device (stub_rocm.h).
#
#   rocm NAME ARGUMENTS...  rocm_app without and with recording, as gpu does it
# shellcheck disable=SC2034,SC2154 # used by the tests, set by tap.sh and gpu_lib.sh

rocm_hook=$BUILD_DIR/hooks/libinferogram-rocm.so
unset ROCP_TOOL_LIBRARIES ROCPROFILER_REGISTER_LIBRARY STUB_ROCM STUB_ROCM_VERSION
mkdir sdk
ln -s "$PROGRAMS/stub_rocprofiler.so" sdk/librocprofiler-sdk.so
ln -s "$PROGRAMS/stub_rocprofiler.so" sdk/librocprofiler-sdk.so.1
with_sdk=$T/sdk:$PROGRAMS
LD_LIBRARY_PATH=$with_sdk

rocm() {
    rocm_name=$1
    shift
    rocm_plain=0
    rocm_recorded=0
    rm -f "$trace"
    "$PROGRAMS/rocm_app" "$@" >plain.out 2>plain.err </dev/null || rocm_plain=$?
    # shellcheck disable=SC2086 # options
    "$INFEROGRAM" record -q $record_options -o "$trace" -- "$PROGRAMS/rocm_app" "$@" >recorded.out 2>recorded.err \
        </dev/null || rocm_recorded=$?
    is "$rocm_name: same output and exit status" "$rocm_recorded $(cat recorded.out recorded.err)" \
        "$rocm_plain $(cat plain.out plain.err)"
}
