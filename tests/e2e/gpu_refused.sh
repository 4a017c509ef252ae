#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --gpu where it cannot: the program is unharmed, and the trace says why in a sentence.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"

refused() { # NAME SENTENCE
    gpu "$1" 20 4
    is "$1: one sentence" "$(instrument)" "unavailable: $2"
    is "$1: no work" "$(rows "SELECT count(*) FROM gpu_slice")" 0
    is "$1: inferences are there" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 20
}

export STUB_CUPTI=taken
refused "another profiler" "another profiler has CUPTI; it is left alone"
export STUB_CUPTI=rights
refused "profiling is restricted" "this user may not profile GPUs: the administrator can allow it by the option\
 NVreg_RestrictProfilingToAdminUsers=0 of the nvidia kernel module"
export STUB_CUPTI=virtual
refused "a GPU that cannot be profiled" \
    "CUPTI cannot record kernels: CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED (40)"
unset STUB_CUPTI
export STUB_CUPTI_VERSION=12
refused "an old CUPTI" "CUPTI is too old (interface 12): that of CUDA 11.0 is the first that is understood"
unset STUB_CUPTI_VERSION
if [ -e /usr/local/cuda ] || ldconfig -p 2>/dev/null | grep -q libcupti; then
    skip "no CUPTI" "this machine has one"
else
    unset LD_LIBRARY_PATH
    refused "no CUPTI" "there is no libcupti, neither beside the program's CUDA libraries nor on this machine;\
 it comes with the CUDA toolkit and as nvidia-cuda-cupti from PyPI"
    LD_LIBRARY_PATH=$PROGRAMS
    export LD_LIBRARY_PATH
fi

export STUB_CUPTI_VERSION=13
gpu "the oldest CUPTI" 20 4
is "the oldest CUPTI: all work" "$(rows "SELECT count(*), count(graph) FROM gpu_slice")" "200,0"
export STUB_CUPTI_VERSION=150000
gpu "a CUPTI of the future" 20 4
is "a CUPTI of the future: the instrument" "$(instrument)" \
    "on: CUPTI 15.0: kernels, copies, sets (newer than is known: without shapes)"
is "a CUPTI of the future: all work" "$(rows "SELECT count(*), count(shape) FROM gpu_slice")" "200,0"
unset STUB_CUPTI_VERSION

export STUB_CUPTI=stolen
gpu "another profiler takes the records" 10000 16
is "another profiler takes the records: said" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets; then another\
 profiler took the records, and only launches are seen"
ok "another profiler takes the records: launches are there" test "$(rows "SELECT count(*) FROM gpu_call")" -gt 1000
unset STUB_CUPTI

ok "a program without CUDA" "$INFEROGRAM" record -q --gpu kernels --no-sample --no-resources -f -o "$trace" -- true
if [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    is "a program without CUDA: said" "$(instrument)" "off: the program did not use CUDA"
    skip "no driver" "this machine has one"
else
    is "no driver: said" "$(instrument)" "off: no CUDA or ROCm driver"
    "$INFEROGRAM" record --no-sample --no-resources -f -o "$trace" -- true 2>said
    is "no driver: said without --gpu, too" "$(instrument)" "off: no CUDA or ROCm driver"
    lacks "no driver: not on the terminal" "$(cat said)" CUDA
fi

done_testing
