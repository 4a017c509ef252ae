#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram inspect: small models of our own, real ones where they are, and files that are no models.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

# The value of a Python expression over the JSON document of a model.
value() { "$INFEROGRAM" inspect --json "$1" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"; }
widest() { python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open(sys.argv[1], encoding="utf-8")))' "$1"; }

# ---- what it says ----
ok "a small model" "$INFEROGRAM" inspect "$models/fusable.onnx"
page=$(cat "$T/stdout")
matches "the answer first" "$page" '^fusable.onnx: [0-9]+ B, 8 parameters float32, 4 nodes, 8 FLOP at sizes of 1$'
contains "costs" "$page" "costs       8 FLOP and 80 B moved per inference"
contains "inputs with free dimensions" "$page" "inputs      x  float32[N, 4]"
contains "operators" "$page" "2 Add · 1 Identity · 1 Relu"
contains "free dimensions are said" "$page" "1 free dimension counts as 1 (--dim N=N)"
is "nothing on stderr" "$(cat "$T/stderr")" ""
"$INFEROGRAM" inspect "$models/fusable.onnx" --dim N=10 --json >"$T/by_name.json"
ok "a named dimension by its place" "$INFEROGRAM" inspect "$models/fusable.onnx" --dim x:0=10 --json
is "is the same" "$(python3 -c 'import json, sys; print([json.load(open(f))["flops"] for f in sys.argv[1:]])' "$T/stdout" "$T/by_name.json")" "[80, 80]"
exits "a place that is not free" 2 "$INFEROGRAM" inspect "$models/fusable.onnx" --dim x:1=10
ok "with a size" "$INFEROGRAM" inspect "$models/fusable.onnx" --dim N=10 --layers all
matches "costs grow with it" "$(head -n 1 "$T/stdout")" ', 80 FLOP$'
contains "and the size is said" "$(cat "$T/stdout")" "moved per inference · N = 10"
ok "no tables" "$INFEROGRAM" inspect "$models/fusable.onnx" --layers 0
lacks "no tables, indeed" "$(cat "$T/stdout")" "Most"
ok "graphs inside of nodes" "$INFEROGRAM" inspect "$models/if.onnx"
contains "are counted" "$(cat "$T/stdout")" "1 If · 1 Neg · 1 Relu · in 2 graphs inside of nodes too"
ok "an operator of nobody" "$INFEROGRAM" inspect "$models/unknown.onnx"
contains "its costs are unknown" "$(cat "$T/stdout")" "costs of 1 of 1 nodes unknown"
matches "so nothing is said of the sum" "$(head -n 1 "$T/stdout")" ', FLOP n/a$'
is "nor in JSON, and why" "$(value "$models/unknown.onnx" 'd["flops"], d["bytes"], d["cost_reason"]')" \
    "(None, None, '1 free dimension; give --dim N=N')"
contains "but what to give" "$(cat "$T/stdout")" "costs       n/a: 1 free dimension; give --dim N=N · costs of 1 of 1 nodes unknown"
ok "with a size it is no better" "$INFEROGRAM" inspect "$models/unknown.onnx" --dim N=4
contains "and nothing is there to give" "$(cat "$T/stdout")" "costs       n/a: costs of 1 of 1 nodes unknown"

# ---- for scripts ----
"$INFEROGRAM" inspect --json "$models/chain.onnx" >"$T/json"
is "the schema is first" "$(head -c 11 "$T/json")" '{"schema":1'
is "nodes with everything" "$(value "$models/chain.onnx" 'sorted(d["nodes"][0])')" \
    "['bytes', 'counted', 'domain', 'flops', 'in_subgraph', 'name', 'op_type', 'parameter_bytes', 'parameters', 'weight']"
is "weights add up to 1" "$(value "$models/chain.onnx" 'abs(sum(n["weight"] for n in d["nodes"]) - 1) < 1e-6')" True
is "unknown costs are null" "$(value "$models/unknown.onnx" 'd["nodes"][0]["flops"]')" None
is "shapes" "$(value "$models/relu.onnx" 'd["inputs"][0]["shape"]')" "['N', 4]"
is "MB are 1024 x 1024 bytes" "$(value "$models/relu.onnx" 'd["size_mb"] * 1024 * 1024 == d["size_bytes"]')" True

# ---- external data ----
python3 - "$T" "$SOURCE_DIR" <<'END'
import sys
sys.path.insert(0, sys.argv[2] + '/tests/runtimes')
sys.dont_write_bytecode = True
from make_models import FLOAT, field, graph, model, node, value
def external(name, location):
    entry = field(13, field(1, 'location') + field(2, location))
    return field(1, 1000) + field(1, 1000) + field(2, FLOAT) + field(8, name) + entry + field(14, 1)
def save(name, location):
    body = graph('g', [node('MatMul', 'layer', ['x', 'w'], 'y')], [value('x', FLOAT, ['N', 1000])],
                 [value('y', FLOAT, ['N', 1000])], [external('w', location)])
    open(f'{sys.argv[1]}/{name}.onnx', 'wb').write(model(body))
save('external', 'weights.bin')
save('escape', '../../../etc/passwd')
END
truncate -s 4000000 "$T/weights.bin"
ok "weights in another file" "$INFEROGRAM" inspect "$T/external.onnx"
contains "it is named" "$(cat "$T/stdout")" "4.00 MB  weights.bin"
is "parameters" "$(value "$T/external.onnx" 'd["parameters"]')" 1000000
is "bytes" "$(value "$T/external.onnx" 'd["size_bytes"]')" "$((4000000 + $(wc -c <"$T/external.onnx")))"
truncate -s 100 "$T/weights.bin"
contains "a file that is too short" "$("$INFEROGRAM" inspect "$T/external.onnx")" \
    "'weights.bin' is too short: weights reach to byte 4000000, it has 100"
rm "$T/weights.bin"
contains "a missing file" "$("$INFEROGRAM" inspect "$T/external.onnx")" "weights are in 'weights.bin', which is missing"
contains "a path that leads out" "$("$INFEROGRAM" inspect "$T/escape.onnx")" \
    "suspicious: the model places weights in '../../../etc/passwd', outside"

# ---- directories ----
mkdir -p "$T/hub/onnx" "$T/none"
cp "$models/relu.onnx" "$T/hub/onnx/model.onnx"
cp "$models/chain.onnx" "$T/hub/onnx/other.onnx"
echo '{}' >"$T/hub/genai_config.json"
ln -s .. "$T/hub/onnx/loop"
ok "a directory" "$INFEROGRAM" inspect "$T/hub"
matches "files are summed" "$(cat "$T/stdout")" '^hub: [0-9.]+ (k?B) in 3 files, 2 ONNX models$'
contains "and models shown in short" "$(cat "$T/stdout")" "onnx/other.onnx"
contains "GenAI is noticed" "$(cat "$T/stdout")" "genai_config.json"
is "the sum" "$(value "$T/hub" 'd["size_bytes"]')" "$(cat "$T"/hub/*.json "$T"/hub/onnx/*.onnx | wc -c)"

# ---- what is refused: exit status 2, one sentence, nothing on stdout ----
refused() { # NAME SENTENCE FILE
    exits "$1" 2 "$INFEROGRAM" inspect "$3"
    contains "$1: the reason" "$(cat "$T/stderr")" "$2"
    is "$1: no result" "$(cat "$T/stdout")" ""
}
echo '<!DOCTYPE html>' >"$T/model.onnx"
refused "a web page" "model.onnx: not an ONNX model: byte 0 is '<'; this looks like HTML (a download page?)" "$T/model.onnx"
echo 'version https://git-lfs.github.com/spec/v1' >"$T/lfs.onnx"
refused "a pointer" "this is a Git LFS pointer; run 'git lfs pull'" "$T/lfs.onnx"
: >"$T/empty.onnx"
refused "an empty file" "the file is empty" "$T/empty.onnx"
head -c 100 "$models/chain.onnx" >"$T/cut.onnx"
refused "a cut model" "cut.onnx: truncated: the graph at byte 20 has" "$T/cut.onnx"
refused "no protobuf" "not an ONNX model" "$models/broken.onnx"
gzip -c "$models/relu.onnx" >"$T/packed.onnx"
refused "a compressed model" "run 'gunzip' first" "$T/packed.onnx"
refused "a directory without models" "a directory without a model in it" "$T/none"
refused "nothing there" "No such file or directory" "$T/nowhere.onnx"
refused "a device" "neither a file nor a directory" /dev/null
chmod 000 "$T/lfs.onnx"
chmod 755 "$T"
if [ "$(id -u)" -eq 0 ]; then # who may read everything
    exits "a file of others" 2 setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" inspect "$T/lfs.onnx"
    contains "a file of others: is told" "$(cat "$T/stderr")" "Permission denied"
else
    refused "a file of others" "Permission denied" "$T/lfs.onnx"
fi
exits "which model?" 2 "$INFEROGRAM" inspect
exits "too many models" 2 "$INFEROGRAM" inspect "$models/relu.onnx" "$models/if.onnx"
exits "no number of layers" 2 "$INFEROGRAM" inspect "$models/relu.onnx" --layers some
exits "no size" 2 "$INFEROGRAM" inspect "$models/relu.onnx" --dim N=many
exits "no such dimension" 2 "$INFEROGRAM" inspect "$models/relu.onnx" --dim M=2
contains "those that there are" "$(cat "$T/stderr")" "has no free dimension 'M'; it has: N"

# ---- real models ----
if have silero && have ocr; then
    det=$(cached ocr)/ch_PP-OCRv4_det_infer.onnx
    is "parameters of a detector" "$(value "$det" '(d["parameters"], d["constant_parameters"])')" "(1171841, 1171841)"
    for model in "$det" "$(cached silero)/silero_vad_v5.onnx"; do
        python3 "$SOURCE_DIR/tests/lib/in_terminal.py" 80 --rows 200 "$INFEROGRAM" inspect "$model" --color=never >"$T/page"
        ok "$(basename "$model") fits 80 columns" test "$(widest "$T/page")" -le 80
        is "$(basename "$model"): weights add up to 1" \
            "$(value "$model" 'abs(sum(n["weight"] for n in d["nodes"]) - 1) < 1e-6')" True
    done
else
    skip "real models" "runtimes: $(tail -n 1 "$T/fetch")"
fi
if have ocr && have python-1.31.1; then
    result=$("$(cached python-1.31.1)/bin/python3" "$SOURCE_DIR/tests/e2e/inspect_costs.py" "$INFEROGRAM" \
        "$(cached ocr)/ch_PP-OCRv4_det_infer.onnx" p2o.DynamicDimension.1=96,p2o.DynamicDimension.2=64 x:1x3x96x64 2>"$T/costs")
    note "$(head -n 5 "$T/costs")"
    is "operations as ONNX Runtime's shapes say" "$result" "283 compared, 0 differ, 1.000000 weights"
else
    skip "operations as ONNX Runtime's shapes say" "runtimes: $(tail -n 1 "$T/fetch")"
fi
if sanitized; then
    skip "the same identity as in a trace" "a sanitized library cannot be preloaded into other programs"
elif have ort-node-1.30.0; then
    "$INFEROGRAM" record -q -o "$trace" -- "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" >"$T/app" 2>&1
    identity=$(value "$models/relu.onnx" 'd["content_id"]')
    matches "an identity" "$identity" '^[0-9a-f]{16}$'
    is "the same identity as in a trace" "$identity" \
        "$(rows "SELECT value FROM model_property WHERE key = 'content' LIMIT 1")"
else
    skip "the same identity as in a trace" "runtimes: $(tail -n 1 "$T/fetch")"
fi

done_testing
