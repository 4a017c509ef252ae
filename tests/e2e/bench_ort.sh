#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime as the benchmark runs it, old versions and new ones: what it tells of models, what it computes,
# and the one sentence for everything that cannot be. No time is measured here.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.14.0 ort-node-1.30.0 silero

drive() { "$PROGRAMS/bench_drive" "$@" >"$T/out" 2>"$T/err"; }
# drive VERSION ARGUMENTS; what it printed is in $said, one line.
on() {
    version=$1
    shift
    status=0
    drive --library "$(ort "$version")" "$@" || status=$?
    said=$(cat "$T/out")
}
last() { tail -n 1 "$T/out"; }

silero="$(cached silero)/silero_vad_v5.onnx"
silero_inputs="--shape input=1x512 --shape state=2x1x128 --number sr=16000 --set threads=1"

# The same of every version: what the model is and what it computes.
for version in 1.14.0 1.17.0 1.20.1 1.24.3 1.25.1 1.30.0; do
    have "ort-node-$version" || { skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"; continue; }
    # shellcheck disable=SC2086 # arguments
    on "$version" $silero_inputs "$silero"
    is "$version: ends well" "$status" 0
    contains "$version: tells itself" "$said" "ONNX Runtime $version"
    is "$version: ports" "$(grep -E '^(in|out)put' "$T/out" | tr '\n' ';')" \
        "input input: float32 ?x?;input state: float32 2x?x128;input sr: int64 scalar;output output: float32 ?x1;output stateN: float32 ?x?x?;"
    is "$version: results" "$(grep '^result' "$T/out" | tr '\n' ';')" \
        "result output: float32 1x1 sum 0.1016;result stateN: float32 2x1x128 sum 4.086;"
    contains "$version: specialization is part of the load" "$said" "specialization within load"
    case $version in
    1.[12][0-3].* | 1.14.0 | 1.17.0)
        contains "$version: no node counts, and why" "$said" \
            "not placed: all on CPUExecutionProvider, the only one; counts need ONNX Runtime 1.24 or newer" ;;
    *) contains "$version: node counts" "$said" "placed CPUExecutionProvider: 224" ;;
    esac
    is "$version: prints nothing by itself" "$(cat "$T/err")" ""
done
if have python-1.31.1; then
    wheel=$(find "$(cached python-1.31.1)/lib" -name 'libonnxruntime.so.1*' | head -n 1)
    # shellcheck disable=SC2086 # arguments
    drive --library "$wheel" $silero_inputs "$silero"
    contains "a wheel's library, newer than our list of functions" "$(cat "$T/out")" "ONNX Runtime 1.31.1"
    contains "and it computes the same" "$(cat "$T/out")" "result output: float32 1x1 sum 0.1016"
fi
if have ocr; then
    on 1.30.0 --set threads=2 --shape x=1x3x48x192 --runs 1 "$(cached ocr)/ch_ppocr_mobile_v2.0_cls_infer.onnx"
    contains "symbolic dimensions have names" "$said" "input x: float32 p2o.DynamicDimension.0x3x"
    contains "and it runs" "$said" "1 runs"
fi

# Inputs of all kinds, and what does not fit.
for version in 1.14.0 1.30.0; do
    on "$version" --shape x=3 "$models/text.onnx"
    contains "$version: texts go in and out" "$said" "result y: string 3 [a] [b] [c]"
    on "$version" --shape x=2x4 "$models/weight.onnx"
    before=$(grep '^result' "$T/out")
    contains "$version: an initializer is no input" "$said" "input x: float32 Nx4
output y"
    on "$version" --shape x=2x4 --add w=4 "$models/weight.onnx"
    is "$version: but may be given" "$status" 0
    lacks "$version: and is used" "$(grep '^result' "$T/out")" "$before"
    on "$version" --shape x=2x3x2 "$models/shapeless.onnx"
    contains "$version: an input without a shape takes any" "$said" "result y: float32 2x3x2"
    on "$version" "$models/list.onnx"
    contains "$version: a sequence is not a tensor" "$said" "output many: no tensor"
    is "$version: and no result" "$(grep -c '^result' "$T/out")" 1
    on "$version" --shape x=0x4 "$models/relu.onnx"
    contains "$version: no element is fine" "$said" "result y: float32 0x4"
    on "$version" --threads 3 --runs 100 --sets 3 "$models/chain.onnx"
    contains "$version: threads share a model" "$said" "300 runs of 3 threads"
    on "$version" --loads 3 "$models/if.onnx"
    contains "$version: loaded again and again" "$said" "2 runs"

    on "$version" --type x=7 "$models/relu.onnx"
    is "$version: another type" "$(last)" 'bind: bad input: input "x" takes float32 Nx4, got int64 1x4'
    on "$version" --shape x=2x5 "$models/relu.onnx"
    is "$version: another dimension" "$(last)" 'bind: bad input: input "x" takes float32 Nx4, got float32 2x5'
    on "$version" --shape x=4 "$models/relu.onnx"
    is "$version: another rank" "$(last)" 'bind: bad input: input "x" takes float32 Nx4, got float32 4'
    on "$version" --rename x=z "$models/relu.onnx"
    is "$version: another name" "$(last)" 'bind: bad input: the model has no input "z"; its inputs: x'
    on "$version" --leave x "$models/relu.onnx"
    is "$version: a missing one" "$(last)" 'bind: bad input: input "x" (float32 Nx4) is missing in the data given'
    # shellcheck disable=SC2086 # arguments
    on "$version" --shape input=1x3 --number sr=16000 "$silero"
    contains "$version: what only a run finds out" "$(last)" "run: bad input: the inputs do not fit the model: "

    on "$version" "$models/unknown.onnx"
    contains "$version: an unknown operator" "$(last)" \
        "load: failed: ONNX Runtime $version does not have the operator NoSuchOperator: "
    on "$version" "$models/kernels.onnx"
    contains "$version: an operator without a kernel" "$(last)" \
        "load: failed: ONNX Runtime $version does not implement the operator CumSum as the model uses it: "
    on "$version" "$models/later.onnx"
    contains "$version: operators of tomorrow" "$(last)" \
        "load: failed: the model needs version 9999 of the operators; ONNX Runtime $version has up to version "
    on "$version" "$models/broken.onnx"
    contains "$version: no model" "$(last)" "load: bad model: $models/broken.onnx cannot be read as a model: "
    on "$version" "$models/outside.onnx"
    contains "$version: a part of it is missing" "$(last)" "load: bad model: $models/outside.onnx is not a valid model: "
    contains "$version: which is named" "$(last)" "nowhere.bin"
    on "$version" "$models/no-such-file.onnx"
    contains "$version: no file" "$(last)" "load: bad model: "
    on "$version" "$models"
    contains "$version: a folder" "$(last)" "load: bad model: "
done
# What a dead process left behind goes, what a living one has stays.
shm=/dev/shm
[ -w /dev/shm ] || shm=/tmp
sleep 0 &
gone=$!
wait "$gone"
mkdir "$shm/inferogram-load-$gone-ABCDEF" "$shm/inferogram-load-$$-ABCDEF"
: >"$shm/inferogram-load-$gone-ABCDEF/load_1.json"
on 1.30.0 "$models/relu.onnx"
ok "a dead process's profile is removed" test ! -e "$shm/inferogram-load-$gone-ABCDEF"
ok "a living one's is not" rmdir "$shm/inferogram-load-$$-ABCDEF"

drive --library "$models/relu.onnx"
contains "a library that is none" "$(last)" "open: unavailable: ONNX Runtime cannot be opened: "
libc=$(ldd "$PROGRAMS/bench_drive" | sed -n 's/.*=> \(.*libc\.so[^ ]*\).*/\1/p')
drive --library "$libc"
contains "a library of something else" "$(last)" "is not ONNX Runtime: it has no OrtGetApiBase"

# Settings.
refused() { # NAME SETTING PART
    on "${refusing:-1.30.0}" --set "$2" "$models/relu.onnx"
    contains "$1" "$(last)" "load: unavailable: $3"
}
for setting in threads=2 inter_threads=2 parallel=1 opt=none opt=all strict_ep=1 ort=any ep=cpu \
    config.session.intra_op.allow_spinning=0 policy=PREFER_NPU; do
    on 1.30.0 --set "$setting" "$models/chain.onnx"
    is "$setting" "$status" 0
done
refused "an unknown setting" colour=red 'ONNX Runtime has no setting "colour"; it has: threads, '
refused "a wrong number" threads=many 'threads cannot be "many": it takes '
refused "a wrong word" opt=best 'opt cannot be "best": it takes none, basic, extended or all'
refused "a wrong policy" policy=FAST 'there is no policy "FAST": it is one of DEFAULT, '
refused "an option of nobody" ep.cuda.device_id=1 "ep.cuda.device_id is an option of a provider that is not asked for"
on 1.30.0 --set ep=cpu --set policy=DEFAULT "$models/relu.onnx"
contains "either providers or a policy" "$(last)" "load: unavailable: either providers are named"
refusing=1.14.0
refused "a policy of an old one" policy=DEFAULT "a policy needs ONNX Runtime 1.22 or newer; this is 1.14.0"
refused "an absent provider" ep=cuda+cpu \
    "CUDAExecutionProvider is not in this build of ONNX Runtime (it has: CPUExecutionProvider)"
refused "one that nobody knows" ep=abacus "abacus is not in this build"
refused "no GPU" ep=gpu "this build of ONNX Runtime has no provider for a GPU (it has: CPUExecutionProvider)"
refused "no NPU" ep=npu "this build of ONNX Runtime has no provider for an NPU (it has: CPUExecutionProvider)"
refused "no accelerator at all" ep=all "there is no accelerator"
refusing=1.30.0
if [ ! -e "$(dirname "$(readlink -f "$(ort 1.30.0)")")/libonnxruntime_providers_cuda.so" ]; then
    refused "a provider whose library is missing" ep=cuda \
        "CUDAExecutionProvider cannot be used here: there is no libonnxruntime_providers_cuda.so beside"
fi

# A provider of a library of its own takes some nodes.
stub="--set ep_library.StubExecutionProvider=$PROGRAMS/ort_stub_ep.so --set ep=StubExecutionProvider+cpu"
# shellcheck disable=SC2086 # arguments
on 1.30.0 $stub --nodes --devices "$models/mixed.onnx"
is "nodes are counted by provider" "$(grep '^placed' "$T/out" | tr '\n' ';')" \
    "placed StubExecutionProvider: 4;placed CPUExecutionProvider: 8;"
is "and named" "$(grep -c '^node StubExecutionProvider Relu m' "$T/out")" 4
contains "devices" "$said" "device CPUExecutionProvider · CPU"
contains "specialization is not known where others compile" "$said" "specialization not known"
# shellcheck disable=SC2086 # arguments
on 1.30.0 $stub --set ep.StubExecutionProvider.stub_operator=Sin --nodes "$models/mixed.onnx"
is "options reach the provider" "$(grep -c '^node StubExecutionProvider Sin' "$T/out")" 4
# shellcheck disable=SC2086 # arguments
on 1.30.0 $stub --set strict_ep=1 "$models/mixed.onnx"
contains "strict: it does not take all" "$(last)" "load: unavailable: the provider does not take all nodes"
# shellcheck disable=SC2086 # arguments
on 1.30.0 $stub --set strict_ep=1 "$models/relus.onnx"
contains "strict: it takes all" "$said" "placed StubExecutionProvider: 3"
# shellcheck disable=SC2086 # arguments
on 1.14.0 $stub "$models/relus.onnx"
contains "an old one has no such libraries" "$(last)" "needs ONNX Runtime 1.22 or newer; this is 1.14.0"

# Plugins: the example, and the one that is slow on purpose.
printf 'matrices\n2 3\n1 0 2\n0 1 0.5\n3 1\n1\n1\n1\n' >"$T/matrices.txt"
plugin() { drive --plugin "$BUILD_DIR/examples/libmatrices.so" "$@"; }
ok "the example runs" plugin --devices --shape x=3x2 "$T/matrices.txt"
contains "its ports" "$(cat "$T/out")" "input x: float32 Nx2"
contains "its result" "$(cat "$T/out")" "result y: float32 3x1 sum -3.288"
ok "from threads" plugin --set repeat=3 --threads 2 --runs 50 "$T/matrices.txt"
plugin --set threads=2 "$T/matrices.txt"
contains "an unknown setting" "$(last)" 'load: unavailable: matrices has no setting "threads"; it has: repeat'
plugin --shape x=3x3 "$T/matrices.txt"
contains "a wrong shape" "$(last)" 'bind: bad input: input "x" takes float32 Nx2'
plugin "$models/relu.onnx"
contains "not its model" "$(last)" "load: bad model: "
slow() { drive --plugin "$PROGRAMS/bench_slow.so" --library "$(ort 1.30.0)" "$@"; }
# shellcheck disable=SC2086 # arguments
ok "the slow one runs" slow $silero_inputs --set slow_pct=3 --runs 100 "$silero"
contains "with the same results" "$(cat "$T/out")" "result output: float32 1x1 sum 0.1016"

done_testing
