#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare with ONNX Runtime: models that do not fit each other, providers that are not there, operators.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
need ort-node-1.30.0
library=$(ort 1.30.0)

compare() { "$INFEROGRAM" compare --ort "$library" --threads 1 "$@"; }
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); r=d["rows"]; print(eval(sys.argv[2]))' "$T/compared.json" "$1"; }

exits "models with other inputs" 2 compare "$models/chain.onnx" "$models/text.onnx"
contains "are refused with a sentence" "$(cat "$T/stderr")" "only models with the same inputs can be compared"
exits "a file that is no model" 2 compare "$models/chain.onnx" "$0"
exits "no provider but the baseline's" 4 compare "$models/chain.onnx" --vary ep=cpu,cuda
contains "the reason is said" "$(cat "$T/stdout")" "unavailable ep=cuda: CUDAExecutionProvider"

compare "$models/chain.onnx" "$models/chain.onnx" --ops --pairs 14 --pairs-max 14 --processes 7 --threshold 100 --json \
    >"$T/compared.json" 2>"$T/stderr"
is "a model with itself" "$(value 'r[1]["verdict"] in ("SAME", "UNSURE")')" True
is "has the same outputs" "$(value 'r[1]["accuracy"][0]["equal"]')" True
is "the same hash" "$(value 'r[0]["model_hash"] == r[1]["model_hash"] != ""')" True
is "load time and memory of its own" "$(value 'r[1]["load_ms"] > 0 and r[1]["peak_bytes"] > 1000000')" True
is "its operators were recorded on both sides" "$(value 'len(r[1]["ops"]) > 0 and all(o["a_ms"] is not None and o["b_ms"] is not None for o in r[1]["ops"])')" True
is "eight times each" "$(value 'max(o["units"] for o in r[1]["ops"]) >= 8')" True

done_testing
