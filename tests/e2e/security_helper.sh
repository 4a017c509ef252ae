#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Root looks into the runtimes of others, and nobody gets root by it: what is run on behalf of a watched program
# runs as that program's user. B (61001) attacks, V (61002) is an ordinary user whose programs are recorded as before.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: only root can be attacked, and can make two users"
command -v setpriv >/dev/null || skip_all "tools: no setpriv (util-linux)"
need_plain_build # V's programs are not built with a sanitizer, and user nobody cannot read its options
B=61001
V=61002
helper=$BUILD_DIR/src/collect/ort_helper/inferogram-ort-helper
chmod 755 "$T"
cd "$T" || exit 99
umask 022
real_cache=$cache
fetched() { XDG_CACHE_HOME=${real_cache%/inferogram} have "$1"; }
XDG_CACHE_HOME=$T/cache
export XDG_CACHE_HOME
mkdir -p cache b race v/log real
chown "$B" b
chown "$V" v v/log

# spawn_as USER COMMAND...: with no group but its own.
spawn_as() {
    as_user=$1
    shift
    spawn setpriv --reuid "$as_user" --regid "$as_user" --clear-groups -- "$@"
}

found_in() { find "$1" -type f -printf '%f\n' | sort | tr '\n' ' '; }

# ---- 1. root by race: a path is one file when it is looked at and another when it is loaded ----
made() { printf '%s\n' "$2" | $CC -w -shared -fPIC -x c -o "$1" - || exit 99; }

chmod 1777 race
made real/roots.so 'int x;'
made b/own.so "#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) void f(void) {
    char path[200];
    snprintf(path, sizeof path, \"$T/race/ran-as-%d\", (int)geteuid());
    close(open(path, O_WRONLY | O_CREAT, 0644));
}"
chown "$B" b/own.so
ln -s "$T/real/roots.so" b/lib.so
chown -h "$B" b/lib.so
spawn_as "$B" "$PROGRAMS/exchange" b/lib.so b/own.so >exchange.out
exchange=$spawned
until_true 60 grep -q ready exchange.out || fail "files are exchanged"
runs=0
while [ "$runs" -lt 60 ]; do
    "$helper" backtrace --timeout 5 "$T/b/lib.so" >answer 2>&1
    runs=$((runs + 1))
done
ok "files are exchanged until the end" tap_alive "$exchange"
tap_end_process "$exchange"
note "the constructor: $(found_in race)"
is "in 60 runs, B's library never runs as root" "$(find race -name 'ran-as-0')" ""
is "it does run, as nobody" "$(found_in race)" "ran-as-65534 "
exits "what only root can read, and others could have written, is not run" 1 sh -c "
    cp b/own.so b/secret.so && chmod 600 b/secret.so && '$helper' backtrace '$T/b/secret.so'"
matches "and that is said" "$(cat stdout)" '^error .*somebody else could have written'
is "nor did it" "$(find race -name 'ran-as-0')" ""

# A description of a runtime that lies around is not taken for one that is installed.
mkdir lair
echo 'this is no description' >lair/llama
chown "$B" lair/llama
(cd lair && "$INFEROGRAM" record -f -o "$trace" --probe llama -- true) >out 2>err
lacks "a description of B's in the working directory" "$(cat err)" "no description"

# ---- 2. root by interpreter: B's program maps a module that belongs to root ----
need_probes
if ! fetched python-1.20.1 || ! fetched silero; then
    skip "root by interpreter" "runtimes: $(tail -n 1 "$T/fetch")"
    done_testing
    exit 0
fi
# For everybody to read: root's cache is not.
site=$T/lib/site-packages
mkdir -p "$site"
cp -r "$real_cache"/python-1.20.1/lib/python3*/site-packages/. "$site/" || exit 99
cp "$real_cache/silero/silero_vad_v5.onnx" "$SOURCE_DIR/tests/runtimes/steady.py" "$T/"
chmod -R go+rX "$T/lib" "$T/silero_vad_v5.onnx" "$T/steady.py"
module=$(find "$site" -name 'onnxruntime_pybind11_state*.so' | head -n 1)
is "the module belongs to root" "$(stat -c %u "$module")" 0

# attacker PROGRAM MODE: B's program in a folder of its own, with the module; its folder is $lair.
attacker() {
    lair=$T/b/$1-$2
    mkdir -p "$lair" && cp "$PROGRAMS/$1" "$lair/$own" && chown -R "$B" "$lair"
    : >attacker.out
    spawn_as "$B" "$lair/$own" "$2" "$module" >attacker.out
    attacker=$spawned
    until_true 60 grep -q ready attacker.out || fail "B's program starts" "$(cat attacker.out)"
}

# What our recorder started: others on this machine may have one that waits for any program.
proof() { grep -e ' by /proc/self/fd/' -e " by $BUILD_DIR" "$lair/proof" 2>/dev/null; }

own=b$$-python # others have programs called python3, and may run these tests at the same time
for how in pid name next; do
    # One that is no interpreter is not started at all.
    for program in maps_module false_python; do
        what="$program, --$how"
        rm -rf "$T/b/$program-hold" cache/inferogram
        case $how in
        pid)
            attacker "$program" hold
            "$INFEROGRAM" record -f -o "$trace" --duration 200ms --ops --pid "$attacker" >out 2>err
            ;;
        name)
            attacker "$program" hold
            "$INFEROGRAM" record -f -o "$trace" --duration 200ms --ops --name "$own" >out 2>err
            ;;
        next)
            spawn "$INFEROGRAM" record -f -o "$trace" --duration 200ms --ops --next --name "$own" --timeout 3 >out 2>err
            recorder=$spawned
            until_true 60 grep -q "waiting for" err || fail "the recorder waits"
            attacker "$program" hold
            ended "$recorder"
            ;;
        esac
        proof=$(proof)
        note "$what: ${proof:-nothing was started}; $(grep -o 'the Python package.*' err | head -n 1)"
        case $program,$how in
        maps_module,*) is "$what: nothing of B's is started" "$proof" "" ;;
        false_python,n*) ;; # another recorder may have it, and it never makes a session
        *) contains "$what: it is started, for it looks like an interpreter" "$proof" "uid" ;;
        esac
        is "$what: as nobody but B, without capabilities, confined, and alone" \
            "$(printf '%s\n' "$proof" | grep -v "^uid $B euid $B gid $B groups 0 capabilities 0* 0* seccomp 2 forks no by /proc/self/fd/[0-9]*\$")" ""
        tap_end_process "$attacker"
    done
done
rm -rf cache/inferogram
attacker maps_module hold
"$INFEROGRAM" record -f -o "$trace" --duration 200ms --pid "$attacker" >out 2>err
contains "why nothing is started" "$(cat err)" "is not a Python interpreter"
tap_end_process "$attacker"

# A program that guards itself against its own user.
rm -rf cache/inferogram
attacker false_python guard
"$INFEROGRAM" record -f -o "$trace" --duration 200ms --pid "$attacker" >out 2>err
is "a process that is not dumpable: nothing is started" "$(proof)" ""
contains "a process that is not dumpable: said" "$(cat err)" "guards itself"
tap_end_process "$attacker"

# An interpreter that a third user could have written.
attacker false_python hold
tap_end_process "$attacker"
lair=$T/b/third
mkdir "$lair" && cp "$PROGRAMS/false_python" "$lair/$own" && chown "$V" "$lair/$own" && chmod 777 "$lair"
spawn_as "$B" "$lair/$own" hold "$module" >attacker.out
attacker=$spawned
until_true 60 grep -q ready attacker.out || fail "B's program starts"
"$INFEROGRAM" record -f -o "$trace" --duration 200ms --pid "$attacker" >out 2>err
is "an interpreter of a third user: nothing is started" "$(proof)" ""
contains "an interpreter of a third user: said" "$(cat err)" "can be written by others than root and that user"
tap_end_process "$attacker"

# The environment of whoever typed sudo does not choose programs that run for others.
printf '#!/bin/sh\necho ran >"%s/race/strange-helper"\n' "$T" >strange
chmod 755 strange
rm -rf "$T/b/false_python-hold"
attacker false_python hold
IFG_ORT_HELPER=$T/strange "$INFEROGRAM" record -f -o "$trace" --duration 200ms --pid "$attacker" >out 2>err
is "IFG_ORT_HELPER is not used for the program of another user" "$(find race -name strange-helper)" ""

# ---- 3. what B's program made root believe is believed for B alone ----
matches "B's lie is kept, and for nobody else" "$(found_in cache/inferogram/attach)" "^[0-9a-f]+-$B.txt \$"
tap_end_process "$attacker"

# As sudo may leave it: HOME is B's, who has put a lie there for root's programs.
mkdir -p b/home/.cache
cp -r cache/inferogram b/home/.cache/
for entry in b/home/.cache/inferogram/attach/*; do mv "$entry" "${entry%-*}-0.txt"; done
find b/home/.cache >before
chown "$B" b/home b/home/.cache

# ---- 4. programs of others and of root are recorded as before, operators too ----
operators() { rows "SELECT count(DISTINCT name) FROM slice WHERE kind = 'op'"; }
python=/usr/bin/python3
wanted=$(find "$real_cache/python-1.20.1/lib" -maxdepth 1 -name 'python3*' -printf '%f\n')
for user in "$V" 0; do
    what="Python of user $user"
    if [ "$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')" != "$wanted" ]; then
        skip "$what" "$python is not $wanted"
        continue
    fi
    rm -f "v/log/$user"
    : >steady.out
    spawn_as "$user" env "PYTHONPATH=$site" PYTHONDONTWRITEBYTECODE=1 \
        "$python" "$T/steady.py" "$T/silero_vad_v5.onnx" "$T/v/log/$user" >steady.out 2>steady.err
    steady=$spawned
    until_true 60 grep -q '^ready .' steady.out || fail "$what starts" "$(tail -n 2 steady.err)"
    ok "$what is recorded" env -u XDG_CACHE_HOME HOME="$T/b/home" XDG_CACHE_HOME= \
        "$INFEROGRAM" record -f -o "$trace" --duration 1 --ops=1 --pid "$steady"
    matches "$what: inferences" "$(rows "SELECT count(*) > 0 FROM ml_event WHERE category = 'inference'")" '^1$'
    matches "$what: operators by name" "$(operators)" '^[0-9]{2,}$'
    matches "$what: the instrument" "$(instrument operators)" '^on: every inference, uprobes'
    ok "$what goes on" tap_alive "$steady"
    settle "$steady"
done
is "nothing was written to the home of B" "$(find b/home/.cache)" "$(cat before)"

# What is loaded into a program must not be for a third user to choose.
inject() {
    mkdir -p b/hooks
    hooks=$(dirname "$(find "$BUILD_DIR/src" -name libinferogram-ort.so | head -n 1)")
    cp -P "$hooks"/libinferogram* b/hooks/ 2>/dev/null
    cp -P "$(dirname "$LIBINFEROGRAM")"/libinferogram.so* b/hooks/ 2>/dev/null
    chown -R "$B" b/hooks
    exits "hooks of B in a program of V" 4 env IFG_HOOKS_DIR="$T/b/hooks" \
        "$INFEROGRAM" record -f -o "$trace" --hook inject --duration 200ms --pid "$steady"
    contains "hooks of B in a program of V: said" "$(cat stderr)" "others than root and user $V could replace"
    lacks "hooks of B in a program of V: not loaded" "$(cat "/proc/$steady/maps")" "$T/b/hooks"
    ok "our own hooks in a program of V" "$INFEROGRAM" record -f -o "$trace" --hook inject --duration 2 --pid "$steady"
    matches "our own hooks in a program of V: inferences" \
        "$(rows "SELECT count(*) > 0 FROM ml_event WHERE category = 'inference'")" '^1$'
}

version=1.20.1
if fetched "ort-node-$version"; then
    mkdir -p lib/ort
    cp -L "$real_cache/ort-node-$version/libonnxruntime.so" lib/ort/libonnxruntime.so
    cp "$PROGRAMS/ort_steady" "$models/relu.onnx" lib/ort/
    chmod -R go+rX lib/ort
    for user in "$V" 0; do
        what="a program of user $user"
        : >steady.out
        spawn_as "$user" lib/ort/ort_steady "v/log/ort-$user" 500 \
            "$T/lib/ort/libonnxruntime.so" "$T/lib/ort/relu.onnx" >steady.out 2>steady.err
        steady=$spawned
        until_true 60 grep -q '^ready .' steady.out || fail "$what starts" "$(tail -n 2 steady.err)"
        ok "$what is recorded" "$INFEROGRAM" record -f -o "$trace" --duration 1 --ops=1 --pid "$steady"
        matches "$what: operators" "$(operators)" '^[1-9]'
        [ "$user" = 0 ] || inject
        settle "$steady"
    done
    is "an answer for each user" "$(find cache/inferogram/attach -type f | sed 's/.*-//' | sort | tr '\n' ' ')" "0.txt $B.txt $V.txt "
else
    skip "a program of another user" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
