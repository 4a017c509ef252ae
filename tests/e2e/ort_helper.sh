#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the helper finds out about real ONNX Runtimes is true: a debugger that knows only the offsets sees the
# nodes that ONNX Runtime's own profile has, in that order and by name. Libraries that harm whoever loads them
# cost a sentence.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

helper=$BUILD_DIR/src/collect/ort_helper/inferogram-ort-helper
compare="$SOURCE_DIR/tests/runtimes/compare_nodes.py"
silero=$(cached silero)/silero_vad_v5.onnx
ocr=$(cached ocr)/ch_PP-OCRv4_det_infer.onnx
real_cache=$cache
XDG_CACHE_HOME=$T/cache
export XDG_CACHE_HOME
mkdir "$T/tmp"

ask() { TMPDIR=$T/tmp "$helper" "$@"; }
# The whole line of a function, or one word of it.
line() { grep "^$1 " "$T/answer"; }
word() { line "$1" | cut -d ' ' -f "$2"; }

# A debugger (ort_kernels) or probes of the kernel (ort_probed) on a command: what they saw is in $T/seen.
watch() {
    watch_program=$1
    watch_library=$2
    shift 2
    # shellcheck disable=SC2046 # a list of numbers
    "$PROGRAMS/$watch_program" "$watch_library" "$(word execute_kernel 2)" "$(word execute_kernel 5)" \
        "$(word node_names 3)" $(line node_names | cut -d ' ' -f 5-9) -- "$@" 3>"$T/seen" >"$T/stdout" 2>"$T/stderr"
}

# Where functions are: NAME LIBRARY OPTIONS...
find_functions() {
    found_name=$1
    found_library=$2
    shift 2
    if ! ask backtrace "$@" "$found_library" >"$T/answer" 2>"$T/stderr"; then
        fail "$found_name: an answer" "$(cat "$T/answer" "$T/stderr")"
        return 1
    fi
    matches "$found_name: ExecuteKernel, the index is argument 3" "$(line execute_kernel)" \
        '^execute_kernel 0x[0-9a-f]+ 0x[0-9a-f]+ argument 3 checked (12|24)$'
    matches "$found_name: run, the session is argument 2" "$(line run)" 'argument 2 checked [36]$'
    matches "$found_name: initialize" "$(line initialize)" 'argument 2 checked [24]$'
    matches "$found_name: names of nodes" "$(line node_names)" '^node_names argument 2 offsets 0( [0-9]+){4} checked [0-9]{2}$'
    ask backtrace "$@" "$found_library" >"$T/again"
    if cmp -s "$T/answer" "$T/again"; then pass "$found_name: the same answer again"; else
        fail "$found_name: the same answer again" "$(diff "$T/answer" "$T/again")"
    fi
}

# ---- libraries ----

for version in 1.14.0 1.17.0 1.20.1 1.24.3 1.30.0; do
    have_all=true
    for needed in "ort-node-$version" silero ocr; do
        XDG_CACHE_HOME=${real_cache%/inferogram} have "$needed" || have_all=false
    done
    if ! $have_all; then
        skip "$version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    library=$(ort "$version")
    find_functions "$version" "$library" || continue
    matches "$version: run of the table, the session is argument 1" "$(line api_run)" 'argument 1 checked 2$'
    if [ "$version" = 1.14.0 ]; then
        is "$version: nothing is called back while a model is being loaded" "$(line load)" ""
    else
        matches "$version: loading from a file, with the path" "$(line load_path)" 'argument 2 path 3 checked 1$'
    fi

    # A run without profiling, seen from outside, is a run with profiling.
    app --ort "$library" --runs 3 --shape input=1x512 --profile "$T/profile-$version" --model "$silero" >"$T/app" || exit 99
    if [ "$(uname -m)" = x86_64 ] && watch ort_kernels "$library" "$PROGRAMS/ort_app" --ort "$library" --runs 3 --shape input=1x512 \
        --model "$silero"; then
        ok "$version: a debugger sees the nodes of the profile, in order, by name" \
            python3 "$compare" order "$(sed -n 's/^profile //p' "$T/app")" "$T/seen"
        note "$version: $(cat "$T/stdout")"
    else
        skip "$version: a debugger sees the nodes of the profile" "no debugger here: $(tail -n 1 "$T/stderr")"
    fi

    app --ort "$library" --runs 300 --shape input=1x512 --profile "$T/profile-$version" --model "$silero" >"$T/app" || exit 99
    if watch ort_probed "$(readlink -f "$library")" "$PROGRAMS/ort_app" --ort "$library" --runs 300 --shape input=1x512 \
        --model "$silero"; then
        ok "$version: so do probes of the kernel" \
            python3 "$compare" order "$(sed -n 's/^profile //p' "$T/app")" "$T/seen"
        note "$version: $(cat "$T/stdout")"
    else
        skip "$version: so do probes of the kernel" "probes: $(tail -n 1 "$T/stderr")"
    fi

    ask nodes --size 32 "$library" "$ocr" >"$T/nodes"
    app --ort "$library" --shape x=1x3x32x32 --profile "$T/profile-ocr-$version" --model "$ocr" >"$T/app" || exit 99
    ok "$version: the nodes of a model are those of its profile" \
        python3 "$compare" nodes "$(sed -n 's/^profile //p' "$T/app")" "$T/nodes"
    ask nodes "$library" "$silero" >"$T/nodes"
    matches "$version: nodes of the body of an If have its index as a parent" "$(cat "$T/nodes")" '^node [0-9]+ 1/[0-9]+ '
    is "$version: no file is left" "$(ls -A "$T/tmp")" ""
done

# ---- Python ----

for version in 1.20.1 1.31.1; do
    if ! XDG_CACHE_HOME=${real_cache%/inferogram} have "python-$version" || ! [ -f "$silero" ]; then
        skip "Python $version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    module=$(find "$real_cache/python-$version/lib" -name 'onnxruntime_pybind11_state*.so' | head -n 1)
    interpreter=$(readlink -f "$real_cache/python-$version/bin/python") # as /proc/PID/exe has it
    find_functions "Python $version" "$module" --python "$interpreter" || continue
    is "Python $version: the table is not what Python uses" "$(line api_run)" ""
    matches "Python $version: loading from a file, with the path" "$(line load_path)" 'argument 2 path 3 checked [12]$'
    cat >"$T/program.py" <<'EOP'
import sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
if len(sys.argv) > 2:
    options.enable_profiling = True
    options.profile_file_prefix = sys.argv[2]
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
for _ in range(3):
    session.run(None, {'input': numpy.zeros([1, 512], numpy.float32), 'state': numpy.zeros([2, 1, 128], numpy.float32),
                       'sr': numpy.array(16000, numpy.int64)})
if len(sys.argv) > 2:
    print(session.end_profiling())
EOP
    python=$real_cache/python-$version/bin/python
    profile=$("$python" "$T/program.py" "$silero" "$T/profile-python-$version") || exit 99
    if [ "$(uname -m)" = x86_64 ] && watch ort_kernels "$module" "$python" "$T/program.py" "$silero"; then
        ok "Python $version: a debugger sees the nodes of the profile, in order, by name" \
            python3 "$compare" order "$profile" "$T/seen"
        note "Python $version: $(cat "$T/stdout")"
    else
        skip "Python $version: a debugger sees the nodes of the profile" "no debugger here: $(tail -n 1 "$T/stderr")"
    fi
    ask nodes --python "$interpreter" --size 32 "$module" "$ocr" >"$T/nodes"
    matches "Python $version: nodes of a model" "$(grep Sigmoid "$T/nodes")" '^node [0-9]+ % p2o\.Sigmoid\.0 Sigmoid CPUExecutionProvider$'
    is "Python $version: no file is left" "$(ls -A "$T/tmp")" ""
done

# ---- libraries that are none ----

# refused NAME SENTENCE LIBRARY [SECONDS]: within the time limit, with a sentence and nothing else.
refused() {
    exits "$1" 1 "$helper" backtrace --timeout "${4:-60}" "$3"
    matches "$1: said" "$(cat "$T/stdout")" "^error .*$2"
    is "$1: one line" "$(wc -l <"$T/stdout")" 1
}
made() { printf '%s\n' "$2" | $CC -w -shared -fPIC -x c -o "$T/$1" - || exit 99; }

made plain.so 'int x;'
refused "a library that is no ONNX Runtime" "no ONNX Runtime" "$T/plain.so"
head -c 3000 "$T/plain.so" >"$T/cut.so"
refused "a file that was cut" "." "$T/cut.so"
echo hello >"$T/text.so"
refused "a text" "." "$T/text.so"
refused "no file" "No such file" "$T/nowhere.so"
refused "a directory" "." "$T"
made sleeps.so 'int pause(void); __attribute__((constructor)) void f(void) { for (;;) pause(); }'
refused "a constructor that never ends" "did not come to an end within 2 s" "$T/sleeps.so" 2
made spins.so '__attribute__((constructor)) void f(void) { for (;;) __asm__ volatile(""); }'
refused "a constructor that spins" "did not come to an end within 2 s" "$T/spins.so" 2
made crashes.so '__attribute__((constructor)) void f(void) { *(volatile int *)0 = 1; }'
refused "a constructor that crashes" "crashed: Segmentation fault" "$T/crashes.so"
made exits.so 'void _exit(int); __attribute__((constructor)) void f(void) { _exit(7); }'
refused "a constructor that ends the program" "ended with status 7" "$T/exits.so"
made forks.so 'int fork(void); int pause(void); __attribute__((constructor)) void f(void) { if (!fork()) for (;;) pause(); }'
refused "a constructor that leaves a process behind: it cannot" "no ONNX Runtime" "$T/forks.so"
made lies.so 'struct b { void *(*api)(unsigned); const char *(*version)(void); };
static void *api(unsigned v) { return 0; } static const char *version(void) { return "1.20.1"; }
static const struct b base = { api, version }; const struct b *OrtGetApiBase(void) { return &base; }'
refused "an ONNX Runtime without functions" "no interface of its own version" "$T/lies.so"
made floods.so 'long write(int, const void *, unsigned long); __attribute__((constructor)) void f(void) {
    for (;;) write(3, "chain run compute 0x1 0x2 0x3\nort 1.20.1\n", 41); }'
refused "a library that never stops talking" "did not come to an end within 2 s" "$T/floods.so" 2
exits "usage" 2 "$helper" backtrace
exits "a model that is none" 1 "$helper" nodes "$T/plain.so" "$T/text.so"

# ---- as the recorder asks ----

IFG_ORT_HELPER=$helper
export IFG_ORT_HELPER
version=1.20.1
if XDG_CACHE_HOME=${real_cache%/inferogram} have "ort-node-$version" && [ -f "$silero" ]; then
    library=$(ort "$version")
    ok "asked by a program" "$PROGRAMS/ort_ask" backtrace "$library"
    matches "the answer" "$(cat "$T/stdout")" '^1\.20\.1 execute_kernel 0x[0-9a-f]+ 3 names 2 run 0x[0-9a-f]+ 2 load_path 2 3$'
    cp "$T/stdout" "$T/first"
    is "it is kept, for programs of this user" "$(find "$T/cache/inferogram/attach" -type f | sed 's|.*/||')" \
        "$(readelf -n "$library" | sed -n 's/.*Build ID: //p')-$(id -u).txt"
    ok "asked again, nothing is started" env IFG_ORT_HELPER=/nowhere "$PROGRAMS/ort_ask" backtrace "$library"
    cp "$T/stdout" "$T/second"
    ok "the same answer" cmp "$T/first" "$T/second"
    for entry in "$T/cache/inferogram/attach"/*.txt; do
        head -c 200 "$entry" >"$entry.new" && mv "$entry.new" "$entry"
    done
    ok "a cache that was cut" "$PROGRAMS/ort_ask" backtrace "$library"
    cp "$T/stdout" "$T/second"
    ok "is made again" cmp "$T/first" "$T/second"
    exits "no helper" 1 env IFG_ORT_HELPER=/nowhere "$PROGRAMS/ort_ask" backtrace "$T/plain.so"
    contains "no helper, said" "$(cat "$T/stderr")" "/nowhere cannot be started"
    exits "no ONNX Runtime" 1 "$PROGRAMS/ort_ask" backtrace "$T/plain.so"
    contains "no ONNX Runtime, said" "$(cat "$T/stderr")" "unsupported"
    ok "nodes" "$PROGRAMS/ort_ask" nodes "$library" "$silero"
    matches "nodes, with those in branches" "$(cat "$T/stdout")" '^[0-9]+ nodes, some in branches, complete$'
else
    skip "asked by a program" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
