#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source of a recording through the same cases: tests/conformance/conformance.c. Here only what it needs.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

export WORKLOAD="$BUILD_DIR/tests/conformance/workload"
chmod 755 "$T" # some cases become somebody else
export TMPDIR="$T"
if ! sanitized && have ort-node-1.20.1; then
    ORT_APP=$PROGRAMS/ort_app
    ORT_STEADY=$PROGRAMS/ort_steady
    ORT_LIBRARY=$(ort 1.20.1)
    ORT_MODEL=$models/relu.onnx
    export ORT_APP ORT_STEADY ORT_LIBRARY ORT_MODEL
fi
"$BUILD_DIR/tests/conformance/conformance"
status=$?
# shellcheck disable=SC2034 # tap.sh looks at it: the program has reported by itself
tap_finished=true
exit "$status"
