#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ONNX Runtime says of its arenas (record --memory): compared with what it says when it is asked without us, and
# said to be missing where it cannot be had.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
need ort-node-1.30.0
record_options="--memory --no-sample"
relu=$models/relu.onnx

arena() { rows "SELECT key || '=' || value FROM model_property WHERE model = '$1' AND key LIKE 'arena%' ORDER BY key"; }
last() { rows "SELECT value FROM counter WHERE name = '$1' ORDER BY time_ns DESC LIMIT 1"; }

# ---- the truth, by the same interface in a program without us ----

cat >"$T/ask.py" <<'END'
import ctypes as C, sys
library, model, runs = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
P = C.c_void_p
get = C.CDLL(library).OrtGetApiBase
get.restype = C.POINTER(P * 2)
api = C.cast(C.CFUNCTYPE(P, C.c_uint32)(get().contents[0])(30), C.POINTER(P * 425)).contents
def call(slot, *arguments):
    status = C.CFUNCTYPE(P, *[type(a) if not isinstance(a, int) else C.c_size_t for a in arguments])(api[slot])(*arguments)
    if status:
        sys.exit(C.CFUNCTYPE(C.c_char_p, P)(api[2])(P(status)))
def make(slot, *arguments):
    out = P()
    call(slot, *arguments, P(C.addressof(out)))
    return out
text = C.c_char_p
env = make(3, 4, text(b'x'))
options = make(10)
call(24, options, 1)
session = make(7, env, text(model), options)
info = make(69, 1, 0)
default = make(78)
name_in, name_out = make(36, session, 0, default), make(37, session, 0, default)
shape = (C.c_int64 * 4)(1, 3, 320, 320)
data = (C.c_float * (3 * 320 * 320))()
x = make(49, info, P(C.addressof(data)), C.sizeof(data), P(C.addressof(shape)), 4, 1)
for _ in range(runs):
    y = P()
    call(9, session, P(None), P(C.addressof(name_in)), P(C.addressof(x)), 1, P(C.addressof(name_out)), 1, P(C.addressof(y)))
    allocator = make(131, session, info)
    pairs = make(319, allocator)
    C.CFUNCTYPE(None, P)(api[96])(y)
for key, name in (('in_use', b'InUse'), ('max_in_use', b'MaxInUse'), ('total_allocated', b'TotalAllocated')):
    print('arena.%s=%s' % (key, C.CFUNCTYPE(C.c_char_p, P, C.c_char_p)(api[297])(pairs, name).decode()))
END

if have ocr && command -v node >/dev/null; then
    det=$(cached ocr)/ch_PP-OCRv4_det_infer.onnx
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    cat >"$T/det.js" <<'END'
const ort = require('onnxruntime-node');
(async () => {
    const s = await ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1, logSeverityLevel: 4 });
    const x = new ort.Tensor('float32', new Float32Array(3 * 320 * 320), [1, 3, 320, 320]);
    for (let i = 0; i < 6; i++) await s.run({ [s.inputNames[0]]: x });
    console.log('done');
})();
END
    same "det in node" node "$T/det.js" "$det"
    python3 "$T/ask.py" "$(ort 1.30.0)" "$det" 6 >"$T/truth"
    is "as ONNX Runtime says" "$(arena ch_PP-OCRv4_det_infer | grep -E 'arena\.(in_use|max_in_use|total_allocated)=')" "$(sort "$T/truth")"
    note "$(arena ch_PP-OCRv4_det_infer | tr '\n' ' ')"
    is "on the timeline" "$(last 'arena peak bytes, ch_PP-OCRv4_det_infer')" "$(sed -n 's/.*max_in_use=//p' "$T/truth")"
    is "no limit is none" "$(property ch_PP-OCRv4_det_infer arena.limit)" ""
    matches "the instrument" "$(instrument 'arena of%')" "^on: asked after a run"
    record_options="--no-sample"
    same "not asked for" node "$T/det.js" "$det"
    is "nothing of it" "$(arena ch_PP-OCRv4_det_infer)$(instrument 'arena of%')$(rows "SELECT count(*) FROM counter WHERE name LIKE 'arena%'")" 0
    record_options="--memory --no-sample"
else
    skip "det in node" "runtimes: no node, or $(tail -n 1 "$T/fetch")"
fi

# ---- every way to run and release, on every version that can tell ----

for version in 1.24.3 1.30.0; do
    have "ort-node-$version" || { skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    for how in "--threads 4 --crowd --loads 3" --keep --binding "--async --intra 2" "--wrong-every 2"; do
        # shellcheck disable=SC2086 # options
        same "$version $how" "$PROGRAMS/ort_app" --ort "$(ort "$version")" $how --runs 20 --model "$relu"
        matches "$version $how: told" "$(arena relu)" "^arena.in_use=[0-9]+"
        [ "$version $how" != "1.24.3 --keep" ] || break
    done
    same "$version many sessions" "$PROGRAMS/ort_app" --ort "$(ort "$version")" --loads 40 --runs 2 --model "$relu"
    is "$version: a property is told again only when it changes" "$(rows "SELECT count(*) <= 3 FROM model_property WHERE key = 'arena.total_allocated'")" 1
    is "$version: nothing is left of released sessions" "$(last 'arena held bytes, relu')" 0
    same "$version shared allocators" "$PROGRAMS/ort_app" --ort "$(ort "$version")" --config session.use_env_allocators=1 --runs 3 --model "$relu"
    contains "$version: not asked, and why" "$(arena relu)" "arena=not asked: the session shares allocators"
done

# ---- where it cannot be had ----

for version in 1.14.0 1.20.1; do
    have "ort-node-$version" || { skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    same "$version" "$PROGRAMS/ort_app" --ort "$(ort "$version")" --runs 20 --model "$relu"
    is "$version: says why" "$(instrument 'arena of%')" \
        "unavailable: ONNX Runtime $version cannot tell of its allocators: 1.23 to 1.31 can"
    is "$version: and has none" "$(arena relu)" ""
done
for version in 1.31.1 1.20.1; do
    have "python-$version" || { skip "Python $version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    same "Python $version" "$(cached "python-$version")/bin/python" "$SOURCE_DIR/tests/runtimes/python/runs.py" plain "$relu" 20
    is "Python $version: says why" "$(instrument 'arena of%')" \
        "unavailable: the Python interface of ONNX Runtime cannot tell of its allocators"
done
done_testing
