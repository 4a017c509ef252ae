#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `report` says of real programs: one that loads for each request, one that loads once, one that asks for a
# provider that is not there.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.30.0
app=$PROGRAMS/ort_app
library=$(ort 1.30.0)

value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/report.json" "$1"; }
findings='" ".join(f["id"] for f in d["findings"])'

same "a session per request" "$app" --ort "$library" --model "$models/chain.onnx" --loads 25 --runs 1
ok "report" "$INFEROGRAM" report "$trace"
contains "for people" "$(cat "$T/stdout")" "chain"
"$INFEROGRAM" report "$trace" --json >"$T/report.json"
contains "repeated-load" " $(value "$findings") " " repeated-load "
contains "with the count" "$(value '[f["evidence"] for f in d["findings"] if f["id"] == "repeated-load"]')" 25
is "counts of the report" "$(value '[(f["events"]["load"]["count"], f["events"]["inference"]["count"])
    for m in d["models"] if m["name"] == "chain" for f in m["functions"]]')" "[(25, 25)]"

same "loaded once" "$app" --ort "$library" --model "$models/chain.onnx" --runs 25
"$INFEROGRAM" report "$trace" --json >"$T/report.json"
lacks "no repeated-load" " $(value "$findings") " " repeated-load "
lacks "no ep-fallback" " $(value "$findings") " " ep-fallback "

same "a provider that is not there" "$app" --ort "$library" --model "$models/chain.onnx" --runs 25 --cuda
"$INFEROGRAM" report "$trace" --json >"$T/report.json"
is "ep-fallback comes first" "$(value 'd["findings"][0]["id"]')" ep-fallback
contains "asked for" "$(value '[m["placement"]["requested"] for m in d["models"] if m["name"] == "chain"]')" CUDA
lacks "not had" "$(value '[m["placement"]["actual"] for m in d["models"] if m["name"] == "chain"]')" CUDA
done_testing
