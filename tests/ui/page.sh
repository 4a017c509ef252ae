#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `inferogram serve` in Chromium, with recordings made here: a voice detector, and two models that read
# text, both in node. Pictures are kept in BUILD/ui-shots. UI_TESTS=name runs name.test.mjs only.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
command -v node >/dev/null || skip_all "tools: no node on this machine"
[ -d "$SOURCE_DIR/ui/node_modules/playwright-core" ] || skip_all "tools: the packages of the page are missing; tools/install-deps brings them"
[ -s "$SOURCE_DIR/ui/dist/app.js" ] || skip_all "tools: the page is not built; tools/build-ui builds it"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)} || skip_all "browser: no Chromium on this machine"
"$CHROMIUM" --version >/dev/null 2>&1 || skip_all "browser: $CHROMIUM does not run (Ubuntu's is a placeholder for a snap)"
export CHROMIUM
need ort-node-1.30.0 silero ocr
NODE_PATH=$(cached ort-node-1.30.0)/node_modules
export NODE_PATH

# record NAME PROGRAM ARGUMENTS: in a folder of its own, where node leaves the names of what it compiled
record() {
    name=$1
    shift
    (cd "$T/work" && "$INFEROGRAM" record -q --ops --sample=499 -o "$T/traces/$name.ifg" -- node --perf-prof "$@") \
        >"$T/$name.out" 2>&1 || { cat "$T/$name.out" >&2; exit 1; }
}
mkdir "$T/traces" "$T/work"
cp "$SOURCE_DIR/examples/read_text.js" "$SOURCE_DIR/tests/runtimes/vad.js" "$T/work"
ln -s "$(cached ocr)" "$T/work/models"
unset IFG_RECORD_OPTIONS
record ocr read_text.js models 24
record silero vad.js "$(cached silero)/silero_vad_v5.onnx" 300
"$REPORT_TRACES" plain "$T/traces/plain.ifg"
echo "this is no trace" >"$T/traces/damaged.ifg"
node "$SOURCE_DIR/tests/ui/made_flows.mjs" >"$T/flows.json"
"$INFEROGRAM" import "$T/flows.json" -o "$T/flows.ifg" >/dev/null
"$REPORT_TRACES" gpu "$T/gpu.ifg"
cp "$T/gpu.ifg" "$T/gpu_again.ifg"
"$REPORT_TRACES" device "$T/device.ifg"

# From here on the points are node's.
# shellcheck disable=SC2034 # tap.sh reads it
tap_finished=true
UI_TRACES=$T/traces
UI_SHOTS=$BUILD_DIR/ui-shots
UI_FLOWS=$T/flows.ifg
UI_GPU=$T/gpu.ifg
UI_DEVICE=$T/device.ifg
UI_INPUTS=$SOURCE_DIR/tests/golden/v1.3.ifg
UI_GPU_AGAIN=$T/gpu_again.ifg
UI_BENCH_MODEL=$(cached ocr)/ch_PP-OCRv4_det_infer.onnx
export UI_TRACES UI_SHOTS UI_FLOWS UI_INPUTS UI_GPU UI_DEVICE UI_GPU_AGAIN UI_BENCH_MODEL
mkdir -p "$UI_SHOTS"
# shellcheck disable=SC2086 # names
node "$SOURCE_DIR/tests/ui/run.mjs" ${UI_TESTS:-frame pages views timeline flows numbers}
