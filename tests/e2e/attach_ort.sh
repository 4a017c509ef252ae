#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --pid of programs that run ONNX Runtime and know nothing of us: what is seen is what they did, and
# whatever happens to either side, they are not harmed.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.20.1 ort-node-1.30.0 python-1.31.1
cd "$T" || exit 1
work=$PROGRAMS/ort_steady
relu=$models/relu.onnx
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
names() { rows "SELECT DISTINCT name FROM model ORDER BY name" | tr '\n' ' '; }

# ---- node, in the middle of its run ----------------------------------------------------------------
have silero && silero=$(cached silero)/silero_vad_v5.onnx || silero=
for version in 1.14.0 1.17.0 1.20.1 1.30.0; do
    if ! command -v node >/dev/null || [ -z "$silero" ] || ! have "ort-node-$version"; then
        skip "node with $version" "runtimes: no node, or $(tail -n 1 "$T/fetch")"
        continue
    fi
    NODE_PATH=$(cached "ort-node-$version")/node_modules
    export NODE_PATH
    rm -f node.log
    steady node.log node "$SOURCE_DIR/tests/runtimes/steady.js" "$silero" node.log
    ok "node $version" attach_until 20 --pid "$steady"
    ok "node $version goes on" tap_alive "$steady"
    settle "$steady"
    all_there "node $version" node.log 20
    is "node $version: the model" "$(rows "SELECT name, path, runtime FROM model")" \
        "silero_vad_v5,$silero,ONNX Runtime $version"
    is "node $version: where the name is from" "$(property silero_vad_v5 inferred)" "session object"
    is "node $version: how it was watched" "$(property silero_vad_v5 attach)" uprobes
    matches "node $version: the instrument" "$(instrument "ONNX Runtime $version")" \
        '^on: attached by uprobes \((BPF|perf)\)$'
    is "node $version: all in one session" "$(inference_attributes session | wc -l)" 1
    is "node $version: nothing lost" "$(rows "SELECT dropped FROM trace_info")" 0
done

# ---- two runtimes in one process, one that comes later ---------------------------------------------
rm -f two.log
steady two.log "$work" two.log 500 "$(ort 1.20.1)" "$relu" "$(ort 1.30.0)" "$models/chain.onnx" + "$(ort 1.20.1)" "$models/twins.onnx"
recorder -f -o "$trace" --pid "$steady"
until_recorded 20
kill -HUP "$steady"
until_recorded 20 twins
kill -INT "$recorder"
ended "$recorder"
settle "$steady"
all_there "two runtimes" two.log 10 relu chain twins
is "two runtimes: models and where they run" "$(rows "SELECT name, runtime FROM model ORDER BY name" | tr '\n' ' ')" \
    "chain,ONNX Runtime 1.30.0 relu,ONNX Runtime 1.20.1 twins,ONNX Runtime 1.20.1 "
is "two runtimes: a model that is loaded meanwhile" "$(rows "SELECT model FROM ml_event WHERE category = 'load'")" twins
is "two runtimes: is known, not inferred" "$(property twins inferred)$(property chain inferred)" "session object"
is "two runtimes: sessions" "$(rows "SELECT count(DISTINCT a.value) FROM attribute a JOIN ml_event e ON e.id = a.slice
    WHERE e.category = 'inference' AND a.key = 'session'")" 3
is "two runtimes: the load says what it is" "$(rows "SELECT specialization FROM ml_event WHERE category = 'load'")" unknown

# ---- a library that is mapped after the attach ------------------------------------------------------
rm -f late.log
steady late.log "$work" late.log 500 "$(ort 1.20.1)" "$relu" + "$(ort 1.30.0)" "$models/chain.onnx"
recorder -f -o "$trace" --pid "$steady"
until_recorded 20
kill -HUP "$steady"
until_recorded 20 chain
kill -INT "$recorder"
ended "$recorder"
settle "$steady"
all_there "a library that comes later" late.log 10 relu chain
is "a library that comes later: both" "$(names)" "chain relu "

# ---- models from memory, names that nobody can know ---------------------------------------------------
rm -f array.log
steady array.log "$work" array.log 500 -a "$(ort 1.30.0)" "$relu" + "$(ort 1.30.0)" "$relu"
ok "a session from memory" attach_until 5 --pid "$steady"
matches "has no name" "$(names)" '^session@[0-9a-f]+ $'
is "and none is made up" "$(rows "SELECT path FROM model")" ""
settle "$steady"

rm -f array.log
steady array.log "$work" array.log 500 -a "$(ort 1.30.0)" "$relu" + "$(ort 1.30.0)" "$models/chain.onnx"
recorder -f -o "$trace" --pid "$steady"
kill -HUP "$steady"
has_loaded() { test "$(rows "SELECT count(*) FROM ml_event WHERE category = 'load'")" -gt 0; }
until_true 60 has_loaded
kill -INT "$recorder"
ended "$recorder"
settle "$steady"
# Its graph is called that; a load that was over before its bytes could be read has no name.
matches "a model from memory that is loaded meanwhile" "$(rows "SELECT model FROM ml_event WHERE category = 'load'")" \
    '^(chain_graph|session@[0-9a-f]+)$'

# ---- both the library and a runtime; hooks that tell already ---------------------------------------------
if sanitized; then
    skip "programs with the library, or with the hooks" "a sanitized library cannot be preloaded into other programs"
else
    rm -f both.log
    steady both.log env LD_PRELOAD="$LIBINFEROGRAM" "$work" both.log 500 "$(ort 1.20.1)" "$relu"
    ok "a program with the library and a runtime without hooks" attach_until 10 --pid "$steady"
    settle "$steady"
    all_there "a program with the library" both.log 10
    is "a program with the library: zones could come, too" \
        "$(rows "SELECT state FROM instrument WHERE name = 'zones'")" on

    rm -f hooked.log
    : >steady.out
    spawn "$INFEROGRAM" record -q -f -o first.ifg --duration 200ms -- "$work" hooked.log 500 "$(ort 1.20.1)" "$relu" >steady.out
    until_true 60 grep -q ready steady.out
    steady=$(sed -n 's/^ready //p' steady.out)
    first_ended() { test "$(json first.ifg "d['file']['finished']")" = True; }
    until_true 60 first_ended
    ok "a program that has the hooks" attach_until 10 --pid "$steady"
    settle "$steady"
    all_there "a program that has the hooks: no call twice" hooked.log 10
    is "a program that has the hooks: they tell" "$(instrument "ONNX Runtime 1.20.1")" "on: launch hooks"
fi

# ---- where the library is ------------------------------------------------------------------------------
cp "$(ort 1.20.1)" gone.so
rm -f gone.log
steady gone.log "$work" gone.log 500 "$T/gone.so" "$relu"
rm gone.so
ok "a library that was deleted" attach_until 10 --pid "$steady"
settle "$steady"
all_there "a library that was deleted" gone.log 10
is "a library that was deleted: its model" "$(names)" "relu "

cp "$(ort 1.20.1)" renamed-by-somebody.bin
rm -f renamed.log
steady renamed.log "$work" renamed.log 500 "$T/renamed-by-somebody.bin" "$relu"
ok "a library with another name" attach_until 10 --pid "$steady"
settle "$steady"
all_there "a library with another name" renamed.log 10

mkdir -p inside
if unshare -m true 2>/dev/null; then
    rm -f inside.log
    # shellcheck disable=SC2016
    steady inside.log unshare -m sh -c 'mount -t tmpfs none inside && cp "$1" inside/lib.so && cp "$2" inside/m.onnx &&
        exec "$3" inside.log 500 "$4/inside/lib.so" inside/m.onnx' - "$(ort 1.20.1)" "$relu" "$work" "$T"
    ok "another mount namespace" attach_until 10 --pid "$steady"
    is "another mount namespace: the path as the program sees it" "$(rows "SELECT name, path FROM model")" \
        "m,$T/inside/m.onnx"
    settle "$steady"
    all_there "another mount namespace" inside.log 10
else
    skip "another mount namespace" "namespaces: unshare -m is refused here"
fi
if unshare -pf true 2>/dev/null; then
    rm -f pids.log
    spawn unshare -pf --kill-child "$work" pids.log 500 "$(ort 1.20.1)" "$relu" >pids.out
    until_true 60 grep -q ready pids.out
    outer=$(cat "/proc/$spawned/task/$spawned/children")
    ok "another pid namespace" attach_until 10 --pid "${outer% }"
    is "another pid namespace: threads by their own numbers" "$(rows "SELECT tid FROM thread WHERE tid > 0")" 1
    is "another pid namespace: the thread's name" "$(rows "SELECT name FROM thread WHERE tid > 0")" ort_steady
    settle "${outer% }"
    sed "s/^1 /${outer% } /" pids.log >pids.outer
    all_there "another pid namespace" pids.outer 10
else
    skip "another pid namespace" "namespaces: unshare -p is refused here"
fi

# ---- where the kernel refuses BPF --------------------------------------------------------------------
cat >without_bpf.py <<'EOP'
import ctypes, os, struct, sys
number = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
# Load the number of the call; bpf(2) gives EPERM, all else is allowed.
code = b''.join(struct.pack('HBBI', *line) for line in
                [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)])
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 4, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, program, 0, 0) != 0:
    sys.exit('no seccomp')
os.execv(sys.argv[1], sys.argv[1:])
EOP
rm -f perf.log
steady perf.log "$work" perf.log 500 "$(ort 1.30.0)" "$relu" + "$(ort 1.30.0)" "$models/chain.onnx"
rm -f "$trace"
spawn python3 without_bpf.py "$INFEROGRAM" record -f -o "$trace" --pid "$steady" 2>stderr
has_begun() { has_recorded 20 || not_alive "$spawned"; }
until_true 60 has_begun
kill -HUP "$steady"
has_both() { has_recorded 20 chain || not_alive "$spawned"; }
until_true 60 has_both
kill -INT "$spawned"
wait "$spawned"
case $(cat stderr) in
*"no seccomp"* | *"cannot attach"*) skip "without BPF" "$(tail -n 1 stderr)" ;;
*)
    settle "$steady"
    is "without BPF: by perf events" "$(instrument "ONNX Runtime 1.30.0")" "on: attached by uprobes (perf)"
    all_there "without BPF" perf.log 10 relu chain
    is "without BPF: a model that is loaded meanwhile" "$(rows "SELECT model FROM ml_event WHERE category = 'load'")" chain
    ;;
esac
settle "$steady"

# ---- the program ends, is killed, forks, execs ----------------------------------------------------------
rm -f life.log
steady life.log "$work" life.log 500 "$(ort 1.20.1)" "$relu"
recorder -f -o "$trace" --pid "$steady"
until_recorded 20
settle "$steady"
ended "$recorder"
is "the program ends: so does the recorder" "$status" 0
all_there "the program ends" life.log 20

rm -f life.log
steady life.log "$work" life.log 500 "$(ort 1.20.1)" "$relu"
recorder -f -o "$trace" --pid "$steady"
until_recorded 20
kill -KILL "$steady"
ended "$recorder"
is "the program is killed: the recorder ends well" "$status" 0
ok "the program is killed: what it did is there" test "$(recorded_events)" -ge 20
is "the program is killed: the file is complete" "$(json "$trace" "d['file']['finished'], d['losses']")" "(True, [])"

rm -f life.log
steady life.log "$work" life.log 500 "$(ort 1.20.1)" "$relu"
recorder -f -o "$trace" --pid "$steady"
kill -USR1 "$steady"
both_ran() { test "$(rows "SELECT count(DISTINCT process) FROM ml_event WHERE category = 'inference'")" = 2 && has_recorded 100; }
until_true 60 both_ran
kill -INT "$recorder"
ended "$recorder"
ok "the program forks: it goes on" tap_alive "$steady"
settle "$steady"
is "the program forks: the child is followed" "$(json "$trace" "len(set(d['pids']))")" 2
all_there "the program forks" life.log 10

rm -f life.log
steady life.log "$work" life.log 500 "$(ort 1.20.1)" "$relu"
recorder -f -o "$trace" --pid "$steady"
until_recorded 20
kill -USR2 "$steady"
again() { test "$(rows "SELECT count(*) FROM model WHERE name = 'relu'")" = 2; }
until_true 60 again
kill -INT "$recorder"
ended "$recorder"
ok "the program replaces itself: it goes on" tap_alive "$steady"
settle "$steady"
is "the program replaces itself: two images of one pid" "$(json "$trace" "len(d['pids']), len(set(d['pids']))")" "(2, 1)"
is "the program replaces itself: the first one's end" "$(json "$trace" "d['processes'][0]['end']")" "replaced by exec"
is "the program replaces itself: the model in both" "$(rows "SELECT count(*) FROM model WHERE name = 'relu'")" 2

# ---- a load that is not over -------------------------------------------------------------------------------
# A model that is a pipe: the runtime reads, and nothing comes.
mkfifo -m 600 endless.onnx
exec 8<>endless.onnx
rm -f open.log
steady open.log "$work" open.log 500 "$(ort 1.20.1)" "$relu" + "$(ort 1.20.1)" endless.onnx
recorder -f -o "$trace" --pid "$steady"
kill -HUP "$steady"
reads() { find "/proc/$1/fd" -lname "*/$2" | grep -q .; }
until_true 60 reads "$steady" endless.onnx
kill -INT "$recorder"
ended "$recorder"
kill -KILL "$steady"
exec 8>&-
is "a load that is not over when recording stops is there" \
    "$(rows "SELECT count(*) FROM ml_event WHERE category = 'load'")" 1

# ---- the recorder is killed: nothing is left behind ----------------------------------------------------------
rm -f left.log
steady left.log "$work" left.log 200 "$(ort 1.30.0)" "$relu"
"$PROGRAMS/ort_offsets" static "$(ort 1.30.0)" >offsets 2>/dev/null
code() { # the bytes of the functions that are probed, as the program has them
    python3 - "$1" offsets <<'EOP'
import sys
offsets = {int(a): int(b, 16) for a, b in (line.split() for line in open(sys.argv[2]))}
maps = [line.split(None, 5) for line in open(f'/proc/{sys.argv[1]}/maps')]
spans = [(int(m[0].split('-')[0], 16), int(m[0].split('-')[1], 16), int(m[2], 16))
         for m in maps if len(m) > 5 and 'libonnxruntime' in m[5] and 'x' in m[1]]
memory = open(f'/proc/{sys.argv[1]}/mem', 'rb', 0)
for slot in (3, 7, 8, 9, 95, 133, 260):
    for start, end, offset in spans:
        if offset <= offsets[slot] < offset + end - start:
            memory.seek(start + offsets[slot] - offset)
            print(slot, memory.read(16).hex())
EOP
}
code "$steady" >before
recorder -f -o "$trace" --pid "$steady"
until_recorded 50
code "$steady" >during
if cmp -s before during; then fail "probes stand in the program" "$(cat during)"; else pass "probes stand in the program"; fi
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
is_as_before() { code "$steady" >after && cmp before after; }
ok "a killed recorder leaves the code as it was" until_true 60 is_as_before
ok "a killed recorder: the program goes on" tap_alive "$steady"
ok "a killed recorder: its file can be read" test "$(recorded_events)" -ge 50

# ---- again and again, under load ----------------------------------------------------------------------------
bad=
for cycle in 1 2 3 4 5 6 7 8 9 10; do
    recorder -f -o "$trace" --pid "$steady"
    until_recorded 5 || bad="$bad $cycle:$(recorded_events)"
    kill -INT "$recorder"
    ended "$recorder"
    [ "$status" = 0 ] || bad="$bad $cycle:$status:$(cat recorder.err)"
done
is "ten attachments" "$bad" ""
code "$steady" >after
ok "they leave the code as it was" cmp before after
ok "the program goes on" tap_alive "$steady"

# ---- ls -----------------------------------------------------------------------------------------------------
matches "ls shows it" "$("$INFEROGRAM" ls 2>/dev/null)" "^ *$steady +[^ ]+ +ort_steady +record --pid +ONNX Runtime 1.30.0 "
is "ls --json" "$("$INFEROGRAM" ls --json | python3 -c 'import json, sys
p = {p["pid"]: p for p in json.load(sys.stdin)["processes"]}[int(sys.argv[1])]
print(p["runtimes"], p["how"], p["library"], repr(p["missing"]))' "$steady")" "ONNX Runtime 1.30.0 record --pid False ''"

# ---- by name -------------------------------------------------------------------------------------------------
named=by-name-$$ # others may run these tests at the same time
cp "$work" "$named"
spawn "./$named" by.log 500 "$(ort 1.20.1)" "$relu" >by.out
until_true 60 grep -q ready by.out
ok "--name" attach --duration 200ms --name "$named"
contains "--name: finds it" "$(cat stderr)" "recording $named (pid $spawned)"
kill "$spawned"

# ---- what cannot be done --------------------------------------------------------------------------------------
exits "--hook none" 1 attach --hook none --duration 100ms --pid "$steady"
contains "--hook none: what is missing" "$(cat stderr)" "does not carry libinferogram"
spawn sleep 60
until_true 60 grep -q sleep "/proc/$spawned/comm"
exits "neither a library nor a runtime" 1 attach --duration 100ms --pid "$spawned"
contains "neither a library nor a runtime: what works instead" "$(cat stderr)" "inferogram record -- sleep"
exits "a pid that is gone" 1 attach --pid 4194000
contains "a pid that is gone: said" "$(cat stderr)" "there is no process 4194000"
exits "a name without a match" 1 attach --name no-such-name-at-all
contains "a name without a match: said" "$(cat stderr)" "no running process has the name"
exits "--hook preload cannot reach it" 2 attach --hook preload --pid "$steady"
chmod 755 "$T"
mkdir -m 777 open
as_nobody_attach() { as_nobody "$INFEROGRAM" record -f -o open/x.ifg "$@" 2>"$T/stderr"; }
exits "another user's process" 4 as_nobody_attach --pid "$steady"
contains "another user's process: said" "$(cat stderr)" "it belongs to root; record it as that user, or with sudo"
# Its own process, without the right to set probes.
cp "$work" "$(ort 1.20.1)" "$relu" open/
chmod 755 open/*
spawn setpriv --reuid=65534 --regid=65534 --clear-groups open/ort_steady open/own.log 500 "$T/open/libonnxruntime.so" open/relu.onnx >own.out
until_true 60 grep -q ready own.out
exits "one's own process without rights" 4 as_nobody_attach --pid "$spawned"
matches "one's own process without rights: which" "$(cat stderr)" "CAP_BPF and CAP_PERFMON|CAP_PERFMON"
contains "one's own process without rights: the alternative" "$(cat stderr)" "inferogram record -- "
is "nothing is left by any of these" "$(find . -name 'inferogram-*'; find open -name '*.ifg')" ""
matches "ls without rights" "$(as_nobody "$INFEROGRAM" ls 2>&1)" "^ *$spawned .* needs rights +ONNX Runtime 1.20.1 "
settle "$steady"

# ---- a table that is longer than any we have counted -----------------------------------------------
rm -f newest.log
steady newest.log "$work" newest.log 500 "$(ort 1.31.1)" "$relu"
ok "1.31.1" attach_until 20 --pid "$steady"
settle "$steady"
all_there "1.31.1" newest.log 20
is "1.31.1: the model" "$(rows "SELECT name, runtime FROM model")" "relu,ONNX Runtime 1.31.1"
matches "1.31.1: nothing to be said of it" "$(instrument "ONNX Runtime 1.31.1")" '^on: attached by uprobes \((BPF|perf)\)$'

# ---- a command that is launched, watched from outside ---------------------------------------------------------
record_options="--hook uprobe"
same "launched with --hook uprobe" "$PROGRAMS/ort_app" --ort "$(ort 1.20.1)" --runs 300 --model "$relu" --ort "$(ort 1.30.0)" --model "$models/chain.onnx"
is "launched with --hook uprobe: from the first session on" \
    "$(rows "SELECT model, category, count(*) FROM ml_event WHERE category != 'prepare-ep' GROUP BY 1, 2 ORDER BY 1, 2" | tr '\n' ' ')" \
    "chain,inference,300 chain,load,1 relu,inference,300 relu,load,1 "
watched() { # NAME OPTIONS...: ort_app with 60 runs, launched with --hook uprobe; what is seen is in $seen
    watched_name=$1
    shift
    same "$watched_name" "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --runs 60 "$@" --model "$relu"
    seen=$(rows "SELECT category, count(*) FROM ml_event WHERE category IN ('load', 'inference') GROUP BY 1 ORDER BY 1" | tr '\n' ' ')
}
watched "RunWithBinding" --binding
is "RunWithBinding: seen" "$seen" "inference,60 load,1 "
watched "runs that fail" --wrong-every 5
is "runs that fail: are marked" "$(inference_attributes status)" "error 12"
watched "a provider that is not there" --provider NoSuch
is "a provider that is not there: seen" "$seen" "inference,60 load,1 "
watched "many sessions in many threads" --crowd --threads 3 --loads 2
is "many sessions in many threads: seen" "$seen" "inference,120 load,7 "
is "many sessions in many threads: released" "$(rows "SELECT count(*) FROM slice WHERE name = 'release session'")" 7
watched "RunAsync" --async --intra 2
is "RunAsync: the calls" "$(rows "SELECT count(*) FROM slice WHERE name = 'RunAsync (the call only)'")" 60
is "RunAsync: no inference is claimed" "$seen" "load,1 "
done_testing
