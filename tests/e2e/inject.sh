#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hooks for programs that run already: loaded into them, the table of functions patched, everything put back.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
need_plain_build
[ "$(uname -m)" = x86_64 ] || skip_all "only for x86-64"
need silero ort-node-1.30.0 ort-node-1.20.1
cd "$T" || exit 1
hooks=$BUILD_DIR/hooks
silero=$(cached silero)/silero_vad_v5.onnx
relu=$models/relu.onnx
shapes="--shape x=1x4 --shape x=2x4 --shape x=3x4 --shape x=4x4 --shape x=5x4 --shape x=6x4 --shape x=7x4"
drive() { timeout 60 "$PROGRAMS/inject_drive" "$@"; }

# The parts of ONNX Runtime that nobody may write to, and how they are protected: PID
cat >constant.py <<'END'
import hashlib, sys
digest = hashlib.sha256()
with open(f'/proc/{sys.argv[1]}/maps') as maps, open(f'/proc/{sys.argv[1]}/mem', 'rb') as memory:
    for line in maps:
        words = line.split()
        if 'libonnxruntime.so' not in line:
            continue
        digest.update((words[0] + words[1]).encode())
        if words[1] == 'r--p':
            start, end = (int(word, 16) for word in words[0].split('-'))
            memory.seek(start)
            digest.update(memory.read(end - start))
print(digest.hexdigest()[:16])
END
constant() { python3 constant.py "$1"; }

# How many inferences there are, and whether each has the batch that follows on the one before: "N True". MODULUS
cat >in_turn.py <<'END'
import sys
batches = [int(line) for line in sys.stdin if line.strip()]
print(len(batches) > 20, all((b - a) % int(sys.argv[1]) == 1 for a, b in zip(batches, batches[1:])))
END
has_more() { [ "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" -gt "$1" ] || not_alive "$recorder"; }
# record_some N OPTIONS...: until there are more inferences than that.
record_some() {
    some_wanted=$1
    shift
    rm -f "$trace"
    recorder -o "$trace" "$@"
    until_true 60 has_more "$some_wanted"
    kill -INT "$recorder"
    ended "$recorder"
    return "$status"
}
in_turn() {
    rows "SELECT a.value FROM attribute a JOIN ml_event e ON e.id = a.slice
          WHERE e.category = 'inference' AND a.key = 'batch' ORDER BY e.start_ns" | python3 in_turn.py "$1"
}
names() { rows "SELECT DISTINCT model FROM ml_event WHERE category = 'inference'"; }

# ---- node ------------------------------------------------------------------------------------------
node_program() { # VERSION ARGUMENTS: in $node, its input is descriptor 7
    NODE_PATH=$(cached "ort-node-$1")/node_modules
    export NODE_PATH
    shift
    rm -f input
    mkfifo input
    : >node.out
    node "$SOURCE_DIR/tests/runtimes/in_turn.js" "$@" <input >node.out 2>node.err &
    node=$!
    tap_pids="$tap_pids $node"
    exec 7>input
    until_true 60 grep -q ready node.out
}
node_end() {
    exec 7>&-
    ended "$node"
}

if command -v node >/dev/null; then
    expected=
    for version in 1.20.1 1.30.0; do
        node_program "$version" "$silero"
        node_end
        expected=$(grep end node.out)
        node_program "$version" "$silero"
        before=$(constant "$node")
        ok "node, $version: takes the hooks" drive "$node" "$hooks" begin
        [ "$(constant "$node")" != "$before" ]
        is "node, $version: the table is another one" "$?" 0
        exits "node, $version: is recorded" 0 record_some 30 --pid "$node"
        is "node, $version: every inference from the first to the last" "$(in_turn 13)" "True True"
        is "node, $version: the model" "$(rows "SELECT DISTINCT name, path, runtime FROM model WHERE path != ''")" \
            "silero_vad_v5,$silero,ONNX Runtime $version"
        is "node, $version: its name is inferred" "$(property silero_vad_v5 inferred)" "session object"
        is "node, $version: its options are not known" "$(property silero_vad_v5 options)" "unknown (made before the attach)"
        is "node, $version: the instrument" "$(instrument "ONNX Runtime $version")" "on: injected"
        is "node, $version: nothing dropped" "$(rows "SELECT dropped FROM trace_info")" 0
        ok "node, $version: gives them back" drive "$node" "$hooks" cycle 1
        is "node, $version: the table is what it was" "$(constant "$node")" "$before"
        ok "node, $version: 20 times under load" drive "$node" "$hooks" cycle 20
        is "node, $version: the table is what it was" "$(constant "$node")" "$before"
        node_end
        is "node, $version: ends as without us" "$status: $(grep end node.out)" "0: $expected"
        is "node, $version: says nothing" "$(cat node.err)" ""
    done
    node_program 1.30.0 "$silero" array
    ok "from memory" drive "$node" "$hooks" begin
    record_some 30 --pid "$node"
    matches "a session without a path has its address for a name" "$(names)" "^session@[0-9a-f]+$"
    is "every inference" "$(in_turn 13)" "True True"
    node_end
else
    skip "node programs" "tools: no node on this machine"
fi

# ---- C ---------------------------------------------------------------------------------------------
app_begin() { # ARGUMENTS: in $app; what it does is more than there is time for, until app_end
    : >app.out
    rm -f app.ready app.hurry
    "$PROGRAMS/ort_app" --ready app.ready --hurry app.hurry "$@" >app.out 2>app.err </dev/null &
    app=$!
    tap_pids="$tap_pids $app"
    until_true 60 test -e app.ready
}
app_end() { # NAME STATUS
    : >app.hurry
    ended "$app"
    is "$1: ends as without us" "$status: $(cat app.out app.err)" "$2: $expected"
}

for version in 1.14.0 1.17.0 1.20.1 1.30.0; do
    if ! have "ort-node-$version"; then
        skip "C, $version" "runtimes: $(tail -n 1 "$T/fetch")"
        continue
    fi
    # shellcheck disable=SC2086
    set -- --ort "$(ort "$version")" --model "$relu" --runs 6000 $shapes --status 5
    expected=$(app "$@")
    app_begin "$@" --pause-us 1000
    ok "C, $version: takes the hooks" drive "$app" "$hooks" begin
    rm -f "$trace"
    recorder -o "$trace" --pid "$app"
    until_true 60 has_more 30
    : >app.hurry
    ended "$recorder"
    is "C, $version: is recorded to its end" "$status" 0
    is "C, $version: every inference" "$(in_turn 7)" "True True"
    is "C, $version: the model, inferred" "$(names) $(property relu inferred)" "relu session object"
    app_end "C, $version" 5
done

# A path in the session that is not the model's.
for version in 1.14.0 1.17.0 1.20.1 1.30.0; do
    have "ort-node-$version" || continue
    app_begin --ort "$(ort "$version")" --model "$relu" --array --optimized "$T/written.onnx" --runs 100000 --pause-us 500
    drive "$app" "$hooks" begin >/dev/null
    record_some 5 --pid "$app"
    matches "$version: the path that a model is written to is not its name" "$(names)" "^session@[0-9a-f]+$"
    tap_end_process "$app"
done

# Threads, sessions that come and go, the other ways to run. What is made after the patch is seen as with launch hooks.
for way in "--threads 4" "--binding" "--async" "--threads 4 --crowd --loads 20"; do
    pause=2000
    runs=16000
    case $way in "--threads 4") pause=10000 ;; *crowd*) runs=1600 ;; esac # these for each of 20 sessions
    # shellcheck disable=SC2086
    set -- --ort "$(ort 1.30.0)" --model "$relu" --runs $runs $way
    expected=$(app "$@")
    app_begin "$@" --pause-us "$pause"
    ok "$way: takes the hooks" drive "$app" "$hooks" begin
    record_some 50 --pid "$app"
    ok "$way: is recorded" test "$(rows "SELECT count(*) > 50 FROM ml_event WHERE category = 'inference'")" -eq 1
    is "$way: under its name" "$(names)" relu
    ok "$way: 20 times under load" drive "$app" "$hooks" cycle 20
    app_end "$way" 0
done

# A program that has the launch hooks is watched already.
rm -f app.hurry
spawn "$INFEROGRAM" record -qfo "$trace" -- "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$relu" --runs 4000 \
    --pause-us 1500 --hurry app.hurry >app.out 2>app.err
recorder=$spawned
launched() { app=$(pgrep -P "$recorder" -x ort_app) && grep -q libinferogram-ort "/proc/$app/maps"; }
until_true 60 launched
ok "with launch hooks: nothing to do" drive "$app" "$hooks" cycle 3
: >app.hurry
ended "$recorder"
is "with launch hooks: every inference once" "$(counts)" "inference 4000, load 1, specialization 1"
is "with launch hooks: the instrument" "$(instrument "ONNX Runtime 1.30.0")" "on: launch hooks"

# ---- deaths ----------------------------------------------------------------------------------------
set -- --ort "$(ort 1.30.0)" --model "$relu" --runs 20000
expected=$(app "$@")
for phase in stopped calling inside returned restored; do
    app_begin "$@" --pause-us 1500
    for number in 1 2 3; do
        drive "$app" "$hooks" die "$phase" "$number" >die.out 2>&1
        is "the recorder dies: $phase, call $number" "$?" 137
        ok "the program lives" tap_alive "$app"
    done
    ok "it can be done again" drive "$app" "$hooks" cycle 2
    app_end "after that" 0
done

app_begin "$@" --pause-us 1500
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$PROGRAMS/inject_drive" "$app" "$hooks" forever >/dev/null 2>&1 &
    driver=$!
    sleep "0.0$number"
    kill -KILL "$driver"
    wait "$driver" 2>/dev/null
done
ok "the recorder dies at any time: the program lives" tap_alive "$app"
app_end "after that" 0

app_begin "$@" --pause-us 1500
"$PROGRAMS/inject_drive" "$app" "$hooks" forever >drive.out 2>&1 &
driver=$!
sleep 0.5
kill -KILL "$app"
ended "$driver"
ok "the program is killed: the recorder ends and says so" test "$status" -lt 100
matches "in words" "$(cat drive.out)" "ended|no process"

# ---- refusals --------------------------------------------------------------------------------------
not_found=2
permission=3
unsupported=4
busy=8
exits "no such process" $not_found drive 4194000 "$hooks" begin
contains "is told" "$(cat stderr)" "there is no process 4194000"
spawn sleep 3000
sleeper=$spawned
# Until it is there, and has loaded what it needs.
until_true 60 sh -c "grep -q libc.so /proc/$sleeper/maps && grep -q '^State:.S' /proc/$sleeper/status"
exits "no ONNX Runtime" $not_found drive "$sleeper" "$hooks" begin
contains "is told" "$(cat stderr)" "has no ONNX Runtime whose functions can be reached"
kill -STOP "$sleeper"
until_true 60 grep -q '^State:.*T' "/proc/$sleeper/status"
exits "a stopped process" $busy drive "$sleeper" "$hooks" begin
contains "is told" "$(cat stderr)" "kill -CONT $sleeper"
kill -CONT "$sleeper"

mkfifo hold
"$PROGRAMS/inject_drive" "$sleeper" - seize <hold >seize.out &
tap_pids="$tap_pids $!"
exec 8>hold
until_true 60 grep -q seized seize.out
exits "a traced process" $busy drive "$sleeper" "$hooks" begin
contains "is told" "$(cat stderr)" "is being traced by process $!"
exec 8>&-

mkfifo hold2
"$PROGRAMS/inject_drive" 0 - confined <hold2 >confined.out &
confined=$!
tap_pids="$tap_pids $confined"
exec 8>hold2
until_true 60 grep -q confined confined.out
exits "a seccomp filter" $unsupported drive "$confined" "$hooks" begin
contains "is told" "$(cat stderr)" "has a seccomp filter"
exits "unless it is forced" $not_found env INJECT_FORCE=1 timeout 60 "$PROGRAMS/inject_drive" "$confined" "$hooks" begin
exec 8>&-

printf 'int sleep(unsigned); int main(void) { sleep(60); return 0; }\n' >static.c
if ${CC:-cc} -static -o static static.c 2>/dev/null; then
    spawn ./static
    until_true 60 grep -q "$T/static" "/proc/$spawned/maps" # it is no shell any more
    exits "a static program" $unsupported drive "$spawned" "$hooks" begin
    contains "is told" "$(cat stderr)" "is statically linked"
else
    skip "a static program" "tools: no static C library"
fi
# It pauses, without a C library of 32 bits.
# shellcheck disable=SC2016 # C
printf 'void _start(void) { for (;;) __asm__ volatile("int $0x80" : : "a"(29)); }\n' >narrow.c
if ${CC:-cc} -m32 -ffreestanding -nostdlib -static -o narrow narrow.c 2>/dev/null; then
    spawn ./narrow
    until_true 60 grep -q "$T/narrow" "/proc/$spawned/maps"
    exits "a program of 32 bits" $unsupported drive "$spawned" "$hooks" begin
    contains "is told, too" "$(cat stderr)" "32 bit"
else
    skip "a program of 32 bits" "the compiler makes none"
fi

app_begin --ort "$(ort 1.30.0)" --model "$relu" --runs 100000000
exits "a program that never waits" $busy drive "$app" "$hooks" begin
contains "is told" "$(cat stderr)" "no thread of process $app"
ok "and goes on" tap_alive "$app"
exits "hooks that are not there" $not_found drive "$app" "$T" begin
contains "is told" "$(cat stderr)" "is missing in $T"
tap_end_process "$app"

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    exits "another user's process" $permission timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$PROGRAMS/inject_drive" "$sleeper" "$hooks" begin
    contains "is told" "$(cat stderr)" "belongs to root; do it as that user, or with the right CAP_SYS_PTRACE"
else
    skip "another user's process" "root: needs root and setpriv"
fi
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount -t tmpfs none "$1" && shift && exec "$@"' sh "$hooks" \
        "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$relu" --runs 100000 --pause-us 1000 >/dev/null 2>&1 &
    app=$!
    tap_pids="$tap_pids $app"
    until_true 60 grep -q libonnxruntime "/proc/$app/maps"
    exits "a process that does not see the hooks" $unsupported drive "$app" "$hooks" begin
    contains "is told" "$(cat stderr)" "it runs in a container or with another root directory"
else
    skip "a process that does not see the hooks" "namespaces: needs root and mount namespaces"
fi

done_testing
