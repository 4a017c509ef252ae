#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inputs that a recording kept: the benchmark gets the same outputs from them, bit for bit, as the program got; which are
# kept, within which limit, and what the trace says of those that are not.
# shellcheck disable=SC2034,SC2154 # shared with hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/server/serve_lib.sh"
need_plain_build
need python-1.31.1 silero
python=$(cached python-1.31.1)/bin/python
outputs=$SOURCE_DIR/tests/runtimes/python/outputs.py
silero=$(cached silero)/silero_vad_v5.onnx
relu=$models/relu.onnx
library=$(ort 1.31.1)
mkdir "$T/place" && cd "$T/place" || exit 99

record() { # OPTIONS... -- COMMAND: what it prints goes to printed, what we say to said
    rm -f "$trace"
    status=0
    "$INFEROGRAM" record --no-sample -o "$trace" "$@" >printed 2>said </dev/null || status=$?
}
# replayed LIBRARY MODEL: what the benchmark gets from all inputs of the trace, in the order of time.
replayed() {
    for event in $(rows "SELECT slice FROM input JOIN slice ON slice.id = input.slice GROUP BY slice ORDER BY start_ns"); do
        "$INFEROGRAM" export "$trace" --format npz --event "$event" -f -o "input-$event.npz" 2>/dev/null
        "$BENCH_OUTPUTS" "$BUILD_DIR/src/bench/runner/inferogram-bench-runner" "$1" "$2" "input-$event.npz"
    done
}
kept() { rows "SELECT count(DISTINCT slice) FROM input"; }
said() { instrument inputs; }
same_outputs() { # NAME LIBRARY MODEL
    replayed "$2" "$3" >again 2>&1
    if [ -s again ] && head -n "$(wc -l <again)" printed | cmp -s - again; then
        pass "$1: the benchmark gets the same outputs, bit for bit"
    else
        fail "$1: the benchmark gets the same outputs, bit for bit" "$(diff printed again | cut -c1-200 | head -n 6)"
    fi
}

# ---- Python

for case in arrays values binding; do
    record --capture-inputs=2 -- "$python" "$outputs" "$case" "$silero" 3
    is "python, $case: kept" "$status $(kept) $(said | cut -c1-20)" "0 2 on: of 2 inferences,"
    same_outputs "python, $case" "$library" "$silero"
done
contains "kept inputs are said" "$(cat said)" "kept inputs: of 2 inferences"
is "SQL" "$(rows "SELECT name, type, shape, bytes, model, failed FROM input WHERE slice = (SELECT min(slice) FROM input) ORDER BY position" | tr '\n' ' ')" \
    "input,float32,1x512,2048,silero_vad_v5,0 state,float32,2x1x128,1024,silero_vad_v5,0 sr,int64,scalar,8,silero_vad_v5,0 "
event=$(rows "SELECT max(slice) FROM input")
is "numpy reads it" "$("$python" -c "
import numpy, sys
with numpy.load('input-$event.npz') as file: print({name: (str(file[name].dtype), file[name].shape) for name in file})")" \
    "{'input': ('float32', (1, 512)), 'state': ('float32', (2, 1, 128)), 'sr': ('int64', ())}"
ok "bench takes it" "$INFEROGRAM" bench "$silero" --ort "$library" --input-data "input-$event.npz" --iterations 3 -o bench.json

# Choosing one.
exits "several, and none chosen" 2 "$INFEROGRAM" export "$trace" --format npz
contains "the choice is listed" "$("$INFEROGRAM" export "$trace" --format npz 2>&1)" "--event with one of: "
exits "one without inputs" 2 "$INFEROGRAM" export "$trace" --format npz --event 0
exits "another format" 2 "$INFEROGRAM" export "$trace" --format csv --event "$event"

# The page.
serve -q "$trace"
cat >page.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from client import Server
server, event = Server(sys.argv[2]), sys.argv[3]
server.api('t/0/meta')
with open('input-%s.npz' % event, 'rb') as file:
    expected = file.read()
slice = server.json('t/0/slice?id=' + event)
assert slice['inputs'] == 'inputs-%s.npz' % event, slice
assert 'inputs' not in server.json('t/0/slice?id=0')
status, headers, body = server.ask('/api/t/0/inputs?id=' + event)
assert status == 200 and body == expected, (status, len(body))
assert server.ask('/api/t/0/inputs?id=' + event, token=False)[0] == 401
assert server.ask('/api/t/0/inputs?id=0')[0] == 404
assert server.ask('/api/t/0/inputs?id=99999999')[0] == 400
END
ok "the page gets the same file, with its token only" python3 page.py "$SOURCE_DIR/tests/server" "$url" "$event"
stop_serving

# ---- which ones

record --capture-inputs=slowest -- "$python" "$outputs" slow "$relu" 6
is "slowest: one" "$(kept)" 1
is "slowest: it is" "$(rows "SELECT slice FROM input")" \
    "$(rows "SELECT id FROM ml_event WHERE category = 'inference' ORDER BY dur_ns DESC LIMIT 1")"
contains "slowest: said" "$(said)" "(the slowest of each model)"
ok "one input is .npy, under the trace's name" "$INFEROGRAM" export "$trace" --format npz
is "its name" "$(ls "$T"/trace-*.npy)" "$T/trace-$(rows "SELECT slice FROM input").npy"
rm -f "$T"/trace-*.npy

record --capture-inputs=failed -- "$python" "$outputs" fail "$relu" 6
is "failed: these alone" "$(rows "SELECT shape, failed, count(*) FROM input GROUP BY shape, failed")" "1x5,1,3"
is "failed: each is marked in the trace" "$(rows "SELECT count(*) FROM input JOIN attribute USING (slice) WHERE key = 'status'")" 3
record --capture-inputs=failed -- "$python" "$outputs" arrays "$silero" 2
is "failed: none did" "$(kept) $(said)" "0 on: none: no inference failed"

# ---- what cannot be kept

record --capture-inputs=3 -- "$python" "$outputs" in_place "$silero" 3
is "overwritten inputs are not kept" "$(kept) $(said)" \
    "0 unavailable: of 0 inferences, 0 bytes (the first 3 of each model); not kept: 3 overwritten by an output"
record --capture-inputs=2 -- "$python" "$outputs" texts "$models/text.onnx" 3
is "texts are not kept" "$(kept) $(said)" \
    "0 unavailable: of 0 inferences, 0 bytes (the first 2 of each model); not kept: 2 with a type that cannot be kept (strings, sequences, lists)"
record --capture-inputs=100 --capture-max=1M -- "$python" "$outputs" slow "$relu" 6
is "the limit: status, and what is left" "$status $(rows "SELECT sum(bytes) < 1048576, sum(bytes) > 0 FROM input")" "0 1,1"
contains "the limit: said" "$(said)" "; not kept: 2 beyond the limit of 1.0 MiB (--capture-max)"
record -- "$python" "$outputs" arrays "$silero" 2
is "off by default" "$(kept) $(said)" "0 "

# ---- a killed program, and one that runs already

record --capture-inputs=2 -- "$python" "$outputs" killed "$silero" 2
is "killed: what it did is there" "$status $(kept)" "137 2"
same_outputs "killed" "$library" "$silero"
spawn "$REC_TICKER" -c 1000000
until_true 60 "$INFEROGRAM" record -q --no-sample --pid "$spawned" --hook none --capture-inputs=1 --duration 100ms -f -o "$trace" 2>said
kill "$spawned"
contains "attached: it says how to get inputs" "$(said)" "unavailable: inputs are kept of launched programs only: 'inferogram record"

# ---- a program that puts something else there

cat >hostile.sh <<'END'
cd "$(dirname "$IFG_CAPTURE")" || exit 1
mkdir inputs-1-1 slowest-1-1-1
ln -s /etc/passwd inputs-1-2
mkfifo inputs-1-3
printf 'no inputs' >inputs-1-4
head -c 100000 /dev/zero >inputs-1-5
: >capture
END
record --capture-inputs=1 -- sh "$T/place/hostile.sh"
is "hostile: the recording ends, and has none of it" "$status $(kept) $(said)" \
    "0 0 unavailable: of 0 inferences, 0 bytes (the first 1 of each model); not kept: 4 damaged"

# ---- C

record --capture-inputs=2 -- "$PROGRAMS/ort_app" --ort "$library" --model "$silero" --runs 2 --fresh \
    --shape input=1x512 --shape state=2x1x128
is "C: kept" "$status $(kept)" "0 2"
cat >checksum.py <<'END'
import sys
total, outputs = 0, {}
for line in sys.stdin:
    name, data = line.split()
    number = outputs.setdefault(name, len(outputs) + 1)
    hashed = 14695981039346656037
    for byte in bytes.fromhex(data):
        hashed = (hashed ^ byte) * 1099511628211 % 2**64
    total += hashed * number
print('checksum %016x' % (total % 2**64))
END
checksum() { replayed "$library" "$silero" | python3 checksum.py; }
contains "C: the benchmark gets the same outputs, bit for bit" "$(cat printed)" "$(checksum)"
record --capture-inputs=2 -- "$PROGRAMS/ort_app" --ort "$library" --model "$silero" --runs 2 --binding --fresh \
    --shape input=1x512 --shape state=2x1x128
is "C, bindings: kept" "$status $(kept)" "0 2"
contains "C, bindings: the same outputs" "$(cat printed)" "$(checksum)"
record --capture-inputs=3 -- "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 3 --async --intra 2
contains "C, asynchronous: not kept, and said" "$(said)" "not kept: 3 of asynchronous runs"

# ---- Node

if command -v node >/dev/null && have ort-node-1.30.0; then
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    record --capture-inputs=2 -- node "$SOURCE_DIR/tests/runtimes/outputs.js" "$silero" 3
    is "node: kept" "$status $(kept)" "0 2"
    same_outputs "node" "$(ort 1.30.0)" "$silero"
else
    skip "node" "runtimes: no node, or no onnxruntime-node"
fi
done_testing
