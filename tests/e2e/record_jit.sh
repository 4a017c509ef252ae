#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names and code where there are no files or symbols: libraries that are deleted or never had a name, JavaScript that
# V8 compiles, kernels in assembly. Everything is read back from the trace alone, with the binaries gone.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
cd "$T" || exit 1
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "samples: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi

# hot FILE EXPRESSION: of `stats --by function`, with rows in r, and share(PART): percent of all samples in functions
# whose name has it.
hot() {
    "$INFEROGRAM" stats "$1" --by function --limit 0 --json >"$T/hot.json" 2>"$T/hot.err" || cat "$T/hot.err"
    python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))["rows"]
share = lambda part: round(100 * sum(x["self"] for x in r if part in x["name"]) / (sum(x["self"] for x in r) or 1))
print(eval(sys.argv[2]))' "$T/hot.json" "$2" 2>&1
}

# annotated NAME FILE FUNCTION [EXPRESSION]: there are instructions, all samples of the function are at one of them, and
# the expression is true of the document d.
annotated() {
    "$INFEROGRAM" annotate "$2" "$3" --json >"$T/annotated.json" 2>"$T/annotated.err"
    is "$1" "$(cat "$T/annotated.err")$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
i = d["instructions"]
found = sum(x["self"] for x in i)
bad = [x["text"] for x in i if x["text"].startswith(".byte")]
print("good" if len(i) > 5 and found >= 0.95 * d["self"] > 0 and len(bad) <= len(i) // 50 and eval("(" + sys.argv[2] + ")")
      else (len(i), found, d["self"], bad[:5], d["no_code"], d["lines"][:3]))' "$T/annotated.json" "${4:-True}" 2>&1)" good
}

# ---- libraries without a file; for an ordinary user the kernel's link to it is closed, and memory is what there is ----

mkdir -m 777 own
chmod 755 "$T"
cp "$SAMPLE_WORK" work.so
cp "$SAMPLE_TARGET" target
cp "$INFEROGRAM" inferogram
users=us
if [ "$(id -u)" = 0 ]; then
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
        users="root ordinary"
    else
        skip "an ordinary user" "kernel.perf_event_paranoid is above 2"
    fi
fi
for user in $users; do
    for mode in deleted memfd; do
        as=
        if [ "$user" = ordinary ]; then as="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
        # shellcheck disable=SC2086 # a command
        exits "$user, $mode: recorded" 7 $as "$T/inferogram" record -q --sample=499 -f -o "own/$user-$mode.ifg" -- "$T/target" "$T/work.so" "$mode"
    done
done
rm -f work.so target inferogram
for user in $users; do
    for mode in deleted memfd; do
        file=own/$user-$mode.ifg
        ok "$user, $mode: most samples are in the hot function, by name" test "$(hot "$file" "share('hot_in_library')")" -ge 80
        annotated "$user, $mode: annotate needs nothing but the trace" "$file" hot_in_library
        how=$("$INFEROGRAM" annotate "$file" hot_in_library --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["note"])')
        if [ "$user" = root ]; then
            is "$user, $mode: read through the kernel's link" "$how" "deleted file"
        else
            is "$user, $mode: read from memory" "$how" "memory of the process"
        fi
    done
done

# ---- JavaScript ----

if command -v node >/dev/null; then
    mkdir js
    cp "$(readlink -f "$(command -v node)")" js/node
    cp "$SOURCE_DIR/tests/programs/jit_hot.js" js/hot.js
    for flag in --perf-basic-prof --perf-prof --no-names; do
        (cd js && "$INFEROGRAM" record -q --sample=499 -f -o ../js$flag.ifg -- ./node "$([ $flag = --no-names ] && echo --no-warnings || echo $flag)" hot.js 0.4) >out 2>err
        is "node $flag: the program's own status" $? 0
        rm -f "/tmp/perf-$(cat out).map"
    done
    if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
        # shellcheck disable=SC2016 # for the shell inside
        (cd js && "$INFEROGRAM" record -q --sample=499 -f -o ../js-apart.ifg -- unshare -mpf --mount-proc sh -c \
            'mount --bind . /mnt && mount -t tmpfs none /tmp && cd /mnt && ./node --perf-basic-prof hot.js 0.4') >out 2>err
        is "in namespaces of its own: the program's own status" $? 0
        matches "in namespaces of its own: it has another number" "$(cat out)" '^[0-9]$'
    else
        skip "in namespaces of its own" "root: only root may make them"
    fi
    rm -rf js # the program, the script, the dump

    for flag in --perf-basic-prof --perf-prof; do
        ok "node $flag: most samples are in the hot function, by name" test "$(hot js$flag.ifg "share('hotInScript')")" -ge 40
        is "node $flag: the other one too" "$(hot js$flag.ifg "share('coolInScript') > 0")" True
    done
    annotated "node --perf-basic-prof: annotate, after the program's end" js--perf-basic-prof.ifg hotInScript
    annotated "node --perf-prof: annotate with lines and their source" js--perf-prof.ifg hotInScript \
        'any("% 1000003" in x["text"] and x["self"] > 0 for x in d["lines"])'
    if [ -f js-apart.ifg ]; then
        ok "in namespaces of its own: by name" test "$(hot js-apart.ifg "share('hotInScript')")" -ge 40
        annotated "in namespaces of its own: annotate" js-apart.ifg hotInScript
    fi
    ok "node without a flag: no name is made up" test "$(hot js--no-names.ifg "share('[generated code]')")" -ge 40
    "$INFEROGRAM" stats js--no-names.ifg --by function >out 2>err
    contains "node without a flag: stats says what to do" "$(cat err)" "run node with --perf-basic-prof"
    contains "node without a flag: info says what to do" "$("$INFEROGRAM" info js--no-names.ifg)" "run node with --perf-basic-prof"
    "$INFEROGRAM" stats js--perf-prof.ifg --by function >out 2>err
    lacks "with it, it is silent" "$(cat err)" "--perf-basic-prof"
else
    skip "JavaScript" "tools: node is not installed"
fi

# ---- kernels in assembly, without names and call frames; operators by their types ----

if have ort-node-1.30.0 && have ocr && command -v node >/dev/null && ! sanitized; then
    cat >det.js <<'SCRIPT'
const ort = require('onnxruntime-node');
(async () => {
    const session = await ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1 });
    const image = new ort.Tensor('float32', new Float32Array(3 * 320 * 320).fill(0.3), [1, 3, 320, 320]);
    for (let i = 0; i < 25; i++) await session.run({ [session.inputNames[0]]: image });
})();
SCRIPT
    ok "a real model: recorded" env NODE_PATH="$(cached ort-node-1.30.0)/node_modules" "$INFEROGRAM" record -q \
        --sample=499 -f -o det.ifg -- node det.js "$(cached ocr)/ch_PP-OCRv4_det_infer.onnx"
    ok "a real model: code without a function is rare ($(hot det.ifg "share('onnxruntime.so.1 [unknown]')") %)" \
        test "$(hot det.ifg "share('onnxruntime.so.1 [unknown]')")" -le 2
    is "a real model: operators are named by their types" \
        "$(hot det.ifg "any(x['name'].endswith('NchwcConv::Compute') and x['guessed'] for x in r) and sum(x['name'].endswith('::Compute') for x in r) >= 4")" True
    is "a real model: also those of classes with several bases" \
        "$(hot det.ifg "any(x['name'].endswith(k + '::Compute') for x in r for k in ('Upsample<float>', 'Resize<float>', 'Concat', 'NchwcAveragePool'))")" True
    kernels=$(hot det.ifg "' '.join(x['name'].split('+')[1] for x in r if x['guessed'] and 'onnxruntime.so.1+0x' in x['name'] and x['self'] >= 5)")
    note "kernels with inferred bounds: $kernels"
    ok "a real model: several kernels, each a function" test "$(echo "$kernels" | wc -w)" -ge 2
    # The first two are called from outside, hence begin by saving registers, and end by returning or jumping away.
    for kernel in $(echo "$kernels" | cut -d ' ' -f 1-2); do
        annotated "a real model: kernel $kernel" det.ifg "$kernel" \
            'd["guessed"] and i[0]["address"] == d["start"] and i[0]["text"].split()[0] in ("push", "mov", "endbr64", "sub", "lea")
             and i[-1]["text"].split()[0] in ("ret", "jmp") and sum("mm" in x["text"] for x in i) > len(i) / 4'
    done
else
    skip "a real model" "a sanitized build, no node, or no runtime: $(tail -n 1 fetch 2>/dev/null | grep . || echo "nothing was refused")"
fi
done_testing
