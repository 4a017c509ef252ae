#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How near operators come to the roofs: costs by the model's file, if it is still there and still the same.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
need ort-node-1.30.0
mkdir "$T/place"
cp "$models/fusable.onnx" "$T/place/net.onnx"
record_options="--ops=1 --no-sample"
same "a model with a free dimension" "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$T/place/net.onnx" --shape x=10x4 --runs 3

# A Python expression over the report: r is the roofline of the first model, m that model.
value() {
    "$INFEROGRAM" report --json "$trace" | python3 -c '
import json, sys
m = json.load(sys.stdin)["models"][0]
r = m["roofline"]
print(eval(sys.argv[1]))' "$1"
}
is "the file is taken" "$(value 'r["reason"]')" ""
is "operators, those that are known first" "$(value '[o["known"] for o in r["operators"]] == sorted((o["known"] for o in r["operators"]), reverse=True) and any(o["known"] for o in r["operators"])')" True
"$INFEROGRAM" inspect --json "$T/place/net.onnx" --dim N=10 >"$T/inspect.json"
is "costs are those of inspect, with the sizes that were recorded" "$(value '[o["name"] for o in r["operators"] if o["known"]
    for n in json.load(open("'"$T"'/inspect.json"))["nodes"] if n["name"] == o["name"] and (n["flops"], n["bytes"]) != (o["flops"], o["bytes"])]')" "[]"
is "times are of the host" "$(value '{o["time"] for o in r["operators"] if o["known"]}')" "{'host'}"
is "what was achieved" "$(value 'all(abs(o["flops_per_s"] * o["time_ms"] / 1e3 - o["flops"]) <= 1e-6 * o["flops"]
    and abs(o["flop_per_byte"] * o["bytes"] - o["flops"]) <= 1e-6 * o["flops"] for o in r["operators"] if o["known"] and o["flops"])')" True
is "no class: roofs of processors are not known" "$(value '{(o["class"], o["reason"]) for o in r["operators"] if o["known"] and o["bytes"]}')" \
    "{('', 'the peaks of processors are not known')}"
is "by type, too" "$(value 'any(o.get("roofline", {}).get("known") for o in m["operators"])')" True
is "in the statistics" "$("$INFEROGRAM" stats --by op --json "$trace" | python3 -c '
import json, sys
print(any(row.get("roofline", {}).get("known") == 1 for row in json.load(sys.stdin)["rows"]))')" True
report=$("$INFEROGRAM" report "$trace")
matches "on the screen" "$report" 'Roofline +[A-Za-z]+ 0\.[0-9]+ FLOP/byte, [0-9.]+ [kMG]?FLOP/s, [0-9.]+ [kMG]?B/s'
contains "and why there is no class" "$report" "the peaks of processors"

cp "$models/relu.onnx" "$T/place/net.onnx"
contains "a file that has changed" "$(value 'r["reason"]')" "net.onnx has changed since the recording"
rm "$T/place/net.onnx"
contains "a file that has gone" "$(value 'r["reason"]')" "net.onnx: No such file or directory"
mkfifo "$T/place/net.onnx"
contains "nothing but files is opened" "$(value 'r["reason"]')" "net.onnx is not a file"
lacks "without a device, the screen has no line that says nothing" "$("$INFEROGRAM" report "$trace")" "Roofline"
done_testing
