#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --ops: the operators of some inferences, as ORT's own profile has them, and no file left behind. 1.30 and 1.25 have the
# observer, older ones a session profile.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need ort-node-1.20.1 ort-node-1.30.0 silero
app=$PROGRAMS/ort_app
mkdir "$T/place" "$T/tmp"
TMPDIR=$T/tmp
export TMPDIR
cd "$T/place" || exit 99

# "name|type" of the operators of inference number $1 that has any, in the order in which they ended.
operators() {
    rows "WITH run AS (SELECT s.id, s.thread, s.start_ns, s.end_ns FROM slice s JOIN attribute a ON a.slice = s.id
              WHERE s.category = 'inference' AND a.key = 'ops' ORDER BY s.start_ns LIMIT 1 OFFSET $1)
          SELECT o.name || '|' || o.function FROM slice o JOIN run ON o.thread = run.thread
              AND o.start_ns >= run.start_ns AND o.end_ns <= run.end_ns
          WHERE o.kind = 'op' ORDER BY o.end_ns, o.depth DESC, o.id"
}

# own VERSION ARGUMENTS: ORT's own profile without us; the operators of its third run
own() {
    own_library=$(ort "$1")
    shift
    "$app" --ort "$own_library" "$@" --runs 3 --profile "$T/own" >"$T/stdout" &&
        python3 "$SOURCE_DIR/tests/runtimes/ops_of_profile.py" "$(sed -n 's/^profile //p' "$T/stdout")" 2 |
        sed 's/_token_[0-9]*|/|/'
    rm -f "$T"/own*
}

# JSON files, ours or ORT's; not those of recordings that other tests make at this moment. Whoever ends removes his own
# before, and a folder inferogram-load-* is the benchmark's (bench_ort.sh makes one for a process that is gone).
left_behind() {
    find "$T/place" "$T/tmp" /dev/shm "${XDG_RUNTIME_DIR:-$T/tmp}" -newer "$T/stamp" \
        \( -name '*.json' -o -name 'file-*' -o -name '*profile*' \) 2>/dev/null |
        while IFS= read -r left; do
            case $left in */inferogram-load-*) continue ;; esac
            recorder=$(printf '%s' "$left" | sed -n 's/.*\/inferogram-[a-z0-9]*-\([0-9]*\)-.*/\1/p')
            [ -n "$recorder" ] && kill -0 "$recorder" 2>/dev/null || [ ! -e "$left" ] || printf '%s\n' "$left"
        done
}

for version in 1.30.0 1.25.1 1.20.1 1.14.0; do
    if ! have "ort-node-$version"; then
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    for model in chain quote if fusable silero det; do
        case $model in
        det)
            have ocr || continue
            set -- --model "$(cached ocr)/ch_PP-OCRv4_det_infer.onnx" --shape x=1x3x64x64
            ;;
        silero) set -- --model "$(cached silero)/silero_vad_v5.onnx" --shape input=1x512 --shape state=2x1x128 ;;
        *) set -- --model "$models/$model.onnx" ;;
        esac
        own $version "$@" >"$T/wanted"
        touch "$T/stamp"
        record_options=--ops=1
        same "$version $model" "$app" --ort "$(ort $version)" "$@" --runs 3
        # Nodes that the optimizer made have names that differ from process to process: ReorderOutput_token_255.
        operators 2 | sed 's/_token_[0-9]*|/|/' >"$T/got"
        is "$version $model: inferences with operators" "$(inference_attributes ops)" "1 3"
        if [ -s "$T/wanted" ] && cmp -s "$T/wanted" "$T/got"; then
            pass "$version $model: the operators of ORT's own profile ($(wc -l <"$T/wanted")), in its order"
        else
            fail "$version $model: the operators of ORT's own profile, in its order" \
                "$(diff "$T/wanted" "$T/got" | head -n 12)"
        fi
        is "$version $model: each inside an inference" "$(rows "SELECT count(*) FROM slice s LEFT JOIN slice p
            ON p.id = s.parent_id WHERE s.kind = 'op' AND coalesce(p.kind, '') != 'op'
            AND coalesce(p.category, '') != 'inference'")" 0
        is "$version $model: reading and specialization, inside of the load" "$(rows "SELECT DISTINCT
            coalesce(s.category, s.name) FROM slice s JOIN slice p ON p.id = s.parent_id WHERE p.category = 'load'
            AND s.end_ns <= p.end_ns ORDER BY s.start_ns" | tr '\n' ' ')" "read model specialization "
        is "$version $model: no file is left" "$(left_behind)" ""
        matches "$version $model: the instrument" "$(instrument operators)" '^on: '
    done
    is "$version: provider of each" "$(rows "SELECT DISTINCT a.value FROM attribute a JOIN slice s ON s.id = a.slice
        WHERE s.kind = 'op' AND a.key = 'provider'")" CPUExecutionProvider
    is "$version: some have sizes and shapes" "$(rows "SELECT count(DISTINCT key) FROM attribute WHERE key IN
        ('node_index', 'output_size', 'input_type_shape', 'output_type_shape')")" 4
done

# Versions before 1.31 write such a name into their profile as it is.
record_options=--ops=1
for version in 1.30.0 1.20.1 1.14.0; do
    have "ort-node-$version" || continue
    same "$version: a name of two lines" "$app" --ort "$(ort $version)" --model "$models/newline.onnx" --runs 3
    is "$version: a name of two lines: as it is" "$(rows "SELECT count(*), name = 'say \"hi\" \\ there' || char(10) || 'and here'
        FROM slice WHERE kind = 'op' GROUP BY name")" 3,1
    is "$version: a name of two lines: nothing lost" "$(rows "SELECT dropped FROM trace_info")" 0
done
record_options=--ops=16
same "every 16th" "$app" --ort "$(ort 1.30.0)" --model "$models/chain.onnx" --runs 64
is "every 16th: four of 64" "$(inference_attributes ops)" "1 4"
is "every 16th: their operators" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'")" 80
is "every 16th: it says so" "$(property chain ops.every) $(property chain ops.how)" "16 observer"
record_options=
same "without --ops" "$app" --ort "$(ort 1.30.0)" --model "$models/chain.onnx" --runs 8
is "without --ops: none" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'")" 0
is "without --ops: not an instrument" "$(instrument operators)" ""

touch "$T/stamp"
record_options=--ops
same "1.20.1: nothing released" "$app" --ort "$(ort 1.20.1)" --model "$models/chain.onnx" --runs 70 --keep
is "1.20.1: the first 64" "$(inference_attributes ops)" "1 64"
is "1.20.1: their operators" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op'")" 1280
is "1.20.1: no file is left" "$(left_behind)" ""
is "1.20.1: it says so" "$(property chain ops.how)" "session profile"
same "1.20.1: four threads" "$app" --ort "$(ort 1.20.1)" --model "$models/chain.onnx" --runs 40 --threads 4
is "1.20.1: operators of each thread" "$(rows "SELECT count(*) FROM slice WHERE kind = 'op' GROUP BY thread" | tr '\n' ' ')" \
    "200 200 200 200 "
same "1.30.0: four threads" "$app" --ort "$(ort 1.30.0)" --model "$models/chain.onnx" --runs 64 --threads 4
is "1.30.0: whole inferences" "$(rows "SELECT count(*) % 20 FROM slice WHERE kind = 'op'")" 0
# A profile must not end in the middle of a run: ONNX Runtime would abort.
for version in 1.17.0 1.20.1; do
    same "$version: four threads, far beyond the profile" "$app" --ort "$(ort "$version")" \
        --model "$models/chain.onnx" --runs 4000 --threads 4
done
same "CPU fallback forbidden" "$app" --ort "$(ort 1.30.0)" --model "$models/chain.onnx" \
    --config session.disable_cpu_ep_fallback=1
done_testing
