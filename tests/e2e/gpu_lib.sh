#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of work on GPUs share; read after tap.sh. The driver and CUPTI are those of tests/programs, which
# need no device (stub_cuda.h).
#
#   gpu NAME ARGUMENTS...  gpu_app without and with recording: same output and exit status. Trace in $trace, options
#                          of record in $record_options
#   rows SQL               rows of $trace, a comma between columns
#   instrument             state and reason of GPU kernels
#   dropped                events of $trace that were lost
# shellcheck disable=SC2034,SC2154 # used by the tests, set by tap.sh

[ "${SANITIZE:-none}" = none ] || skip_all "a sanitized library cannot be loaded into other programs"
cd "$T" || exit 1
trace=$T/trace.ifg
record_options="--gpu kernels --no-sample --no-resources"
cupti_hook=$BUILD_DIR/hooks/libinferogram-cupti.so
unset CUDA_INJECTION64_PATH STUB_CUPTI STUB_CUPTI_VERSION STUB_CUDA_DEVICES
LD_LIBRARY_PATH=$PROGRAMS
export LD_LIBRARY_PATH

gpu() {
    gpu_name=$1
    shift
    gpu_plain=0
    gpu_recorded=0
    rm -f "$trace"
    "$PROGRAMS/gpu_app" "$@" >plain.out 2>plain.err </dev/null || gpu_plain=$?
    # shellcheck disable=SC2086 # options
    "$INFEROGRAM" record -q $record_options -o "$trace" -- "$PROGRAMS/gpu_app" "$@" >recorded.out 2>recorded.err </dev/null ||
        gpu_recorded=$?
    is "$gpu_name: same output and exit status" "$gpu_recorded $(cat recorded.out recorded.err)" \
        "$gpu_plain $(cat plain.out plain.err)"
}

rows() {
    "$INFEROGRAM" query "$trace" --csv "$1" |
        python3 -c 'import csv, sys; print("\n".join(",".join(row) for row in list(csv.reader(sys.stdin))[1:]))'
}
instrument() { rows "SELECT state || ': ' || reason FROM instrument WHERE name = 'GPU kernels'"; }
dropped() {
    "$INFEROGRAM" info --json "$trace" | python3 -c 'import json, sys; print(json.load(sys.stdin)["dropped"])'
}
