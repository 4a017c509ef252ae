#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # set by the libraries below
# record --probe: real libraries in programs that know nothing of us, followed by descriptions. What the trace
# says is compared with what the program did.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
programs=$SOURCE_DIR/tests/runtimes
llama="llama-3.22.1"
openvino="openvino-2026.4.1"

# ---- what is wrong with descriptions, before anything is recorded ----
refused() { # NAME CONTENT MESSAGE
    printf '%b' "$2" >"$T/bad.probe"
    exits "$1" 2 "$INFEROGRAM" record --probe "$T/bad.probe" -o "$T/never.ifg" -- touch "$T/never"
    contains "$1: said" "$(cat "$T/stderr")" "$3"
}
refused "an empty description" "" "bad.probe:0: the file is empty"
refused "a newer one" "version 7\n" "bad.probe:1: version '7' is not known here"
refused "an unknown word" "version 1\nfrobnicate\n" "bad.probe:2: 'frobnicate' is not known"
refused "no model" "version 1\nruntime r\nlibrary l\nprobe f load\n" "bad.probe:4: 'f' does not say which model"
refused "binary" "\001\002" "control character"
exits "no such description" 2 "$INFEROGRAM" record --probe no-such-thing -- true
contains "where it was looked for" "$(cat "$T/stderr")" "there is no description 'no-such-thing'"
exits "a folder" 2 "$INFEROGRAM" record --probe / -- true
exits "too many" 2 "$INFEROGRAM" record --probe llama --probe llama --probe llama --probe llama --probe llama \
    --probe llama --probe llama --probe llama --probe llama -- true
ok "nothing was started or written" test ! -e "$T/never" -a ! -e "$T/never.ifg"
cp "$SOURCE_DIR/probes/llama.probe" "$T/own.probe"
exits "a folder of one's own" 2 env IFG_PROBES_DIR="$T" "$INFEROGRAM" record --probe own --pid x
contains "is used" "$(cat "$T/stderr")" "'x' is not a process number"

# ---- who has one of these runtimes, and how to follow it ----
cp "$BUILD_DIR/tests/extension/libmade_runtime.so" "$T/libllama.so"
spawn env LD_PRELOAD="$T/libllama.so" sleep 600
listed() { "$INFEROGRAM" ls 2>/dev/null | grep -Eq "^ *$spawned .*(with --probe llama|needs rights) +llama.cpp "; }
tries=0
until listed || [ "$tries" -ge 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
ok "ls shows who has it" listed
unasked() { # SECONDS
    "$INFEROGRAM" record -f -o "$T/unasked.ifg" -- env LD_PRELOAD="$T/libllama.so" sleep "$1" 2>"$T/stderr" &&
        "$INFEROGRAM" info "$T/unasked.ifg" | tr -s ' \n' ' ' | grep -q 'llama.cpp .*sleep loaded libllama.so, which is followed if asked for: --probe llama'
}
unasked 0.5 || unasked 10
is "a recording without it says how to get it" $? 0
contains "and so does record" "$(cat "$T/stderr")" "llama.cpp not available: sleep loaded libllama.so"

if [ "$(id -u)" -ne 0 ]; then
    skip "real libraries" "root: probes need root here"
    done_testing
    exit
fi

# ---- driving a program ----
# start_program PROGRAM FOLDER: reads lines from descriptor 3, answers in $T/answers
start_program() {
    rm -f "$T/lines"
    mkfifo "$T/lines"
    : >"$T/answers"
    (exec python3 "$programs/$1" "$2" <"$T/lines" >"$T/answers" 2>"$T/complaints") &
    program=$!
    tap_pids="$tap_pids $program"
    exec 3>"$T/lines"
    await "$T/answers" ready
}
await() { # FILE TEXT
    tries=0
    until grep -q "$2" "$1" 2>/dev/null; do
        [ "$tries" -lt 1200 ] || return 1
        sleep 0.05
        tries=$((tries + 1))
    done
}
say() { echo "$1" >&3; }
ask() { # LINE: says it and waits for the answer
    say "$1"
    await "$T/answers" "^$1 "
}
attach() { # OPTIONS: begins to record the program
    rm -f "$trace" "$T/record.err"
    "$INFEROGRAM" record --pid "$program" -o "$trace" "$@" 2>"$T/record.err" &
    recorder=$!
    tap_pids="$tap_pids $recorder"
    await "$T/record.err" "recording" || note "$(cat "$T/record.err")"
}
finish_program() {
    say end
    exec 3>&-
    wait "$program"
    program_status=$?
    wait "$recorder"
    recorder_status=$?
    is "$1: the program ends well" "$program_status $(tail -n 1 "$T/answers")" "0 end"
    is "$1: so does the recording" "$recorder_status" 0
}
events() { rows "SELECT model, category, count(*) FROM ml_event GROUP BY 1, 2 ORDER BY 1, 2" | tr '\n' ' '; }
anonymous() { sed 's/session@0x[0-9a-f]*/session@ADDRESS/g'; }

# ---- llama.cpp ----
if have "$llama"; then
    folder=$(cached "$llama")
    python3 "$programs/make_gguf.py" "$T/tiny.gguf"
    start_program llama_program.py "$folder"
    ask "load $T/tiny.gguf"
    ask "run 5" # before anybody looks
    attach --probe llama
    ask "run 30"
    ask "load $T/tiny.gguf"
    ask "run 200"
    ask "load $T/nothing.gguf"
    finish_program llama
    is "llama: the program was not disturbed" "$(grep -c " ok" "$T/answers") $(grep -c " failed" "$T/answers")" "5 1"
    is "llama: exactly its calls" "$(events | anonymous)" \
        "nothing,load,1 session@ADDRESS,inference,30 tiny,inference,200 tiny,load,1 tiny,setup,1 "
    is "llama: the path" "$(rows "SELECT path FROM model WHERE name = 'tiny'")" "$T/tiny.gguf"
    is "llama: the runtime" "$(rows "SELECT DISTINCT runtime FROM model")" "llama.cpp"
    is "llama: sessions" "$(inference_attributes session | tr '\n' ' ')" "1 30 2 200 "
    is "llama: the failure" "$(attributes load status)" "error: llama_model_load_from_file gave null"
    is "llama: nothing dropped" "$(rows "SELECT dropped FROM trace_info")" 0
    matches "llama: the instrument" "$(instrument "llama.cpp by probes")" "^on: llama.probe in libllama.*so, (BPF|perf)"
    contains "llama: said at the end" "$(cat "$T/record.err")" "watched llama.cpp by probes"
    is "llama: where names come from" "$(property tiny name.source)" "the call"
    ok "llama: a report" "$INFEROGRAM" report "$trace"

    # Launched, with the library named by its path: from the very first call.
    sed "s,^library .*,library $folder/libllama.*so," "$SOURCE_DIR/probes/llama.probe" >"$T/path.probe"
    printf 'load %s\nrun 20\nend\n' "$T/tiny.gguf" >"$T/script"
    rm -f "$trace" "$T/record.err"
    # shellcheck disable=SC2016 # for the inner shell
    ok "llama, launched" "$INFEROGRAM" record -q --probe "$T/path.probe" -o "$trace" -- \
        sh -c 'exec python3 "$1" "$2" <"$3"' sh "$programs/llama_program.py" "$folder" "$T/script"
    is "llama, launched: all of it" "$(events)" "tiny,inference,20 tiny,load,1 tiny,setup,1 "

    # Whoever dies, the other one is unharmed.
    start_program llama_program.py "$folder"
    ask "load $T/tiny.gguf"
    attach --probe llama
    ask "run 10"
    kill -9 "$recorder"
    wait "$recorder" 2>/dev/null
    ask "run 11"
    attach --probe llama
    ask "run 12"
    sleep 0.3
    kill -9 "$program"
    exec 3>&-
    wait "$program" 2>/dev/null
    wait "$recorder"
    is "llama: the recorder is killed, then the program" "$? $(grep -c " ok" "$T/answers")" "0 4"
    is "llama: the trace is complete to that point" "$(events | anonymous)" "session@ADDRESS,inference,12 "
else
    skip "llama.cpp" "runtimes: $(tail -n 1 "$T/fetch")"
fi

# ---- OpenVINO ----
if have "$openvino"; then
    start_program openvino_program.py "$(cached "$openvino")"
    ask "load $models/relu.onnx"
    ask "run 5"
    attach --probe openvino
    ask "run 7"
    ask "load $models/relu.onnx"
    ask "run 300"
    ask "load one-step:$models/chain.onnx"
    ask "run 40"
    ask "load $models/broken.onnx"
    finish_program openvino
    is "openvino: exactly its calls" "$(events | anonymous)" \
        "chain,inference,40 chain,load,1 chain,setup,1 relu,inference,300 relu,load,1 relu,setup,1 session@ADDRESS,inference,7 "
    is "openvino: the zones" "$(rows "SELECT name, count(*) FROM slice WHERE category IS NULL GROUP BY 1")" "read model,2"
    is "openvino: sessions" "$(inference_attributes session | tr '\n' ' ')" "1 7 2 300 3 40 "
    is "openvino: the failure" "$(rows "SELECT count(*) FROM attribute WHERE key = 'status' AND
        value LIKE 'error: ov_core_read_model gave -%'")" 1
    is "openvino: the device" "$(attributes load device)" CPU
    is "openvino: nothing dropped" "$(rows "SELECT dropped FROM trace_info")" 0

    # A program that does not have the library, or not yet.
    start_program openvino_program.py "$(cached "$openvino")"
    ask "load $models/relu.onnx"
    attach --probe llama --probe openvino
    ask "run 10"
    finish_program "two descriptions"
    is "two descriptions: what is there" "$(events | anonymous)" "session@ADDRESS,inference,10 "
    matches "two descriptions: what is not" "$(instrument "llama.cpp by probes")" "^unavailable: no process had libllama"
else
    skip "OpenVINO" "runtimes: $(tail -n 1 "$T/fetch")"
fi

# ---- a runtime inside of the program, with patterns ----
cat >"$T/app.c" <<'EOC'
#include <stdio.h>
__attribute__((noinline)) int app_step_v2(void *net, const char *part, long rows)
{
    __asm__ volatile("" ::: "memory");
    return net && part && rows > 2 ? 3 : 0;
}
__attribute__((noinline)) void *app_open_v2(const char *name) { static int nets[2]; return &nets[name[0] == 'b']; }
int main(void)
{
    char line[16];
    void *net = NULL;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        net = app_open_v2(line[0] == 'e' ? "a" : "b");
        for (long i = 0; i < 5; i++)
            app_step_v2(net, i % 2 ? "decode" : "encode", i);
        puts(line[0] == 'e' ? "end" : "step ok");
        fflush(stdout);
        if (line[0] == 'e')
            return 0;
    }
}
EOC
cat >"$T/app.probe" <<'EOP'
version 1
runtime app
executable
probe app_open* load
    model text 1
    object result
probe app_*step* inference
    model object 1
    function text 2
    attribute rows argument 3
    failed result != 0
EOP
if ${CC:-cc} -O1 -rdynamic -o "$T/app" "$T/app.c" 2>"$T/cc.err"; then
    mkfifo "$T/app.lines"
    : >"$T/answers"
    (exec "$T/app" <"$T/app.lines" >"$T/answers") &
    program=$!
    tap_pids="$tap_pids $program"
    exec 3>"$T/app.lines"
    await "$T/answers" ready
    attach --probe "$T/app.probe"
    ask step
    finish_program "a program with exported functions"
    is "exported functions: models" "$(events)" "a,inference,5 a,load,1 b,inference,5 b,load,1 "
    is "exported functions: functions of the model" \
        "$(rows "SELECT function, count(*) FROM ml_event WHERE category = 'inference' GROUP BY 1" | tr '\n' ' ')" "decode,4 encode,6 "
    is "exported functions: numbers" "$(inference_attributes rows | tr '\n' ' ')" "0 2 1 2 2 2 3 2 4 2 "
    is "exported functions: failures" "$(inference_attributes status)" "error: app_step_v2 gave 3 4"
else
    skip "exported functions of a program" "$(head -n 1 "$T/cc.err")"
fi

# ---- a duration: probes are there before the rest is, and nothing of that time is in the trace ----
cat >"$T/steps.c" <<'EOC'
#include <unistd.h>
__attribute__((noinline)) int app_step_v2(void *net, const char *part, long rows)
{
    __asm__ volatile("" ::: "memory");
    return net && part ? (int)rows : 0;
}
int main(void)
{
    for (long i = 0;; i++) {
        app_step_v2(&i, "encode", 0);
        usleep(200);
    }
}
EOC
if ${CC:-cc} -O1 -rdynamic -o "$T/steps" "$T/steps.c" 2>"$T/cc.err"; then
    spawn "$T/steps"
    await "/proc/$spawned/maps" "$T/steps"
    for i in 1 2 3; do
        # With samples it takes a while until all is there.
        ok "a duration, $i" "$INFEROGRAM" record -f -o "$trace" --sample --duration 1 --pid "$spawned" --probe "$T/app.probe"
        ok "a duration, $i: not longer than asked for" python3 -c \
            "import sys; n = float(sys.argv[1]); print(n); sys.exit(not 0 < n <= 1.0005)" "$(rows "SELECT dur_ns / 1e9 FROM trace_info")"
        is "a duration, $i: there are calls" "$(rows "SELECT count(*) > 10 FROM ml_event")" 1
    done
    tap_end_process "$spawned"
else
    skip "a duration" "$(head -n 1 "$T/cc.err")"
fi

# ---- other processes and rights ----
spawn sleep 60
printf 'version 1\nruntime r\nlibrary libc.so*\nprobe there_is_no_such_function zone z\n' >"$T/absent.probe"
# shellcheck disable=SC2154 # set by spawn
exits "functions that are not there" 1 "$INFEROGRAM" record --pid "$spawned" --probe "$T/absent.probe" -o "$T/n.ifg" --duration 1
contains "are named" "$(cat "$T/stderr")" "exports none of the functions that absent.probe describes (there_is_no_such_function)"
ok "no file for it" test ! -e "$T/n.ifg"
if command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$INFEROGRAM"; then
    chmod 755 "$T"
    exits "nobody" 4 setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$INFEROGRAM" record --pid "$spawned" --probe llama -o /dev/null --duration 1
    matches "nobody: what is missing" "$(cat "$T/stderr")" "CAP_|capabilit"
else
    skip "nobody" "nobody may not run $INFEROGRAM"
fi
done_testing
