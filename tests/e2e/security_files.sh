#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that a watched program names (sources, debug files, perf maps, jitdump) are read with the rights of its user,
# never with those of root who records it. The user 61001 is the attacker, 61002 a third one.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
if [ "$(id -u)" != 0 ]; then skip_all "root: only root can record the programs of other users"; fi
if ! setpriv --reuid=61001 --regid=61001 --clear-groups true; then skip_all "other users' rights cannot be had here"; fi
cd "$T" || exit 1
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "samples: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi
chmod 755 "$T"
SECRET=secret$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
mkdir -m 700 vault traces
mkdir -m 755 home
chown 61001:61001 home
# A line that every one of the readers would take for something: a source, a perf map, a list of functions.
for _ in 1 2 3 4 5 6; do echo "0 7fffffffffffffff $SECRET"; done >vault/file
chmod 600 vault/file

as_user() { setpriv --reuid=61001 --regid=61001 --clear-groups "$@"; }

# compile OUTPUT SOURCE-NAME [OPTION...]: a program whose debug information names that file.
compile() {
    compile_out=$1
    compile_named=$2
    shift 2
    $CC -O1 -g "-DNAMED=\"$compile_named\"" -DHOT=hot_function "$@" -o "$compile_out" "$SOURCE_DIR/tests/programs/named_spin.c" ||
        fail "the program compiles"
}

# record NAME PROGRAM [ARGUMENT...]: of the user, by root.
record() {
    record_name=$1
    shift
    timeout 100 "$INFEROGRAM" record -q --sample=997 -f -o "traces/$record_name.ifg" -- \
        setpriv --reuid=61001 --regid=61001 --clear-groups "$@" >stdout 2>stderr || fail "$record_name: recorded" "$(cat stderr)"
}

# holds FILE TEXT: whether a trace has it, compressed or not; every frame of zstd in it is read.
holds() {
    python3 - "$1" "$2" <<'PYTHON'
import subprocess, sys
data, text = open(sys.argv[1], 'rb').read(), sys.argv[2].encode()
at, frames = 0, 0
found = text in data
while not found and (at := data.find(b'\x28\xb5\x2f\xfd', at)) >= 0:
    plain = subprocess.run(['zstd', '-dcq'], input=data[at:], capture_output=True).stdout
    frames += len(plain) > 0
    found = text in plain
    at += 4
sys.exit(0 if found else 1)
PYTHON
}

# keeps NAME: that trace, and what is shown of it, does not have the secret; but the function's samples are there.
keeps() {
    if holds "traces/$1.ifg" "$SECRET"; then fail "$1: the secret is not in the trace"; else pass "$1: the secret is not in the trace"; fi
    {
        "$INFEROGRAM" annotate "traces/$1.ifg" hot_function --json
        "$INFEROGRAM" stats "traces/$1.ifg" --by function --limit 0 --json
        "$INFEROGRAM" query "traces/$1.ifg" "SELECT * FROM sample_frame" --csv
        "$INFEROGRAM" info "traces/$1.ifg"
        "$INFEROGRAM" export "traces/$1.ifg" --format pprof -f -o out.pb && cat out.pb
    } >shown 2>&1
    ok "$1: nor is it shown" sh -c "! grep -q '$SECRET' shown"
}

problem() { "$INFEROGRAM" query "traces/$1.ifg" "SELECT value FROM fact WHERE key = 'samples.names_problem'" --csv | tail -1; }
named() { "$INFEROGRAM" stats "traces/$1.ifg" --by function --limit 0 --json | grep -q "\"$2\""; }

# ---- what is found if it is there: the test would see a secret ----

printf 'own text one\n\n/* %s */ int a;\n\n\n' open-text >home/open.c
compile home/open "$T/home/open.c"
record open home/open 0.4
ok "a source that everybody may read is found in the trace" holds traces/open.ifg open-text

# ---- sources ----

compile home/source "$T/vault/file"
record source home/source 0.4
keeps source
ok "source: the function has its name" named source hot_function
contains "source: the trace tells" "$(problem source)" "$T/vault/file is not in the trace: user 61001"

ln -s "$T/vault/file" home/link.c
compile home/link "$T/home/link.c"
record link home/link 0.4
keeps link

ln -s "/proc/self/root$T/vault/file" home/magic.c
compile home/magic "$T/home/magic.c"
record magic home/magic 0.4
keeps magic

mkfifo -m 666 home/pipe.c
compile home/pipe "$T/home/pipe.c"
record pipe home/pipe 0.4
ok "a source that is a pipe keeps nobody waiting" named pipe hot_function

truncate -s 1T home/huge.c
compile home/huge "$T/home/huge.c"
record huge home/huge 0.4
ok "a source of a terabyte is left out" named huge hot_function

# The program is over before anybody looks at it.
compile home/short "$T/vault/file"
record short sh -c 'for i in 1 2 3 4 5 6; do home/short 0.02; done'
keeps short

# Attached instead of started.
setpriv --reuid=61001 --regid=61001 --clear-groups home/source 60 >ready &
target=$!
tap_pids="$tap_pids $target"
until_true 60 grep -q ready ready
ok "attached: recorded" "$INFEROGRAM" record -q --sample=997 --duration 1.2 -f -o traces/attached.ifg --pid "$target"
kill "$target"
keeps attached
ok "attached: the function has its name" named attached hot_function

# ---- separate debug files ----

# split NAME: home/NAME without any names, and where they are in NAME.debug.
split() {
    compile "home/$1" "$T/home/open.c" -UHOT -DHOT="$SECRET"
    objcopy --only-keep-debug "home/$1" "$1.debug"
    strip -s "home/$1"
}

split debuglink
mv debuglink.debug vault/debuglink.debug
chmod 600 vault/debuglink.debug
(cd vault && objcopy --add-gnu-debuglink=debuglink.debug ../home/debuglink)
ln -s "$T/vault/debuglink.debug" home/debuglink.debug
record debuglink home/debuglink 0.4
keeps debuglink
rm home/debuglink.debug
cp vault/debuglink.debug home/debuglink.debug
chown 61001 home/debuglink.debug
# Long enough to be seen while it runs: of whom the recorder did not see, it does not know whose debug files to read.
record debuglink-own home/debuglink 2
ok "debug information of the user's own is found" named debuglink-own "$SECRET"

# A debug file that several share, as dwz makes it: here only its name is there, and it is a pipe.
mkfifo -m 600 vault/shared.debug
mkfifo -m 666 home/shared.debug
for place in vault home; do
    compile "home/alt-$place" "$T/home/open.c"
    { printf '%s\0' "$T/$place/shared.debug" && head -c 20 /dev/zero; } >altlink
    objcopy --add-section .gnu_debugaltlink=altlink "home/alt-$place"
    record "alt-$place" sh -c "home/alt-$place 0.4; home/open 0.4"
    ok "alt-$place: another program has its names" named "alt-$place" hot_function
    lacks "alt-$place: nobody waited for the end of time" "$(problem "alt-$place")" "took more than"
done

# ---- what code generated at run time is called ----

# code NAME [ARGUMENT...]: starts it; its numbers are in $code_pid and $code_at.
code() {
    code_name=$1
    shift
    rm -f go && mkfifo go
    : >code.out # before it is begun: the numbers of the last one are there
    setpriv --reuid=61001 --regid=61001 --clear-groups "$NAMED_CODE" "$@" <go >code.out &
    tap_pids="$tap_pids $!"
    exec 9>go
    until_true 60 grep -q . code.out
    read -r code_pid code_at <code.out
    code_list=/tmp/perf-$code_pid.map
}

# record_code: lets it run, records it, and ends it.
record_code() {
    echo >&9
    "$INFEROGRAM" record -q --sample=997 --duration 1.2 -f -o "traces/$code_name.ifg" --pid "$code_pid" >stdout 2>stderr || fail "$code_name: recorded" "$(cat stderr)"
    exec 9>&-
    kill "$code_pid"
    wait "$code_pid" 2>/dev/null
    rm -f "$code_list"
}

if [ "$(uname -m)" = x86_64 ]; then
    code list-own
    echo "$code_at 100 made_by_its_user" >list
    as_user sh -c "cat >$code_list" <list
    record_code
    ok "a list of its own user is believed" named list-own made_by_its_user

    code list-root
    echo "$code_at 100 made_by_root" >"$code_list"
    record_code
    ok "so is one of root" named list-root made_by_root

    code list-forged
    echo "$code_at 100 made_by_a_stranger" >list
    setpriv --reuid=61002 --regid=61002 --clear-groups sh -c "cat >$code_list" <list
    record_code
    ok "a list of somebody else is not" sh -c "! '$INFEROGRAM' stats traces/list-forged.ifg --by function --limit 0 --json | grep -q made_by"
    contains "and the trace tells why" "$(problem list-forged)" "$code_list is neither user 61001's nor root's"

    code list-link
    as_user ln -s "$T/vault/file" "$code_list"
    record_code
    keeps list-link

    code list-pipe
    as_user mkfifo "$code_list"
    record_code
    contains "a list that is a pipe keeps nobody waiting" "$(problem list-pipe)" "not a regular file"

    code list-huge
    as_user truncate -s 1T "$code_list"
    record_code
    pass "a list of a terabyte of nothing is survived"

    # A jitdump that the program maps; a moment later the path leads to one that it may not read. dump FILE NAME.
    dump() {
        python3 -c '
import struct, sys, time
name, at = sys.argv[2].encode() + b"\0", 0x10000000000
head = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 1, time.monotonic_ns(), 0)
body = struct.pack("<IIQQQQ", 1, 1, at, at, 64, 1) + name + b"\x90" * 64
record = struct.pack("<IIQ", 0, 16 + len(body), time.monotonic_ns()) + body
open(sys.argv[1], "wb").write(head + record)' "$1" "$2"
    }
    mkdir vault/dumps
    dump vault/dumps/jit-1.dump "$SECRET"
    chmod 600 vault/dumps/jit-1.dump
    as_user mkdir home/dumps
    dump home/dumps/jit-1.dump made_by_dump
    chown 61001:61001 home/dumps/jit-1.dump
    record dump-own "$NAMED_CODE" "$T/home/dumps/jit-1.dump" </dev/null
    ok "a jitdump of its own user is believed" named dump-own made_by_dump
    record dump "$NAMED_CODE" "$T/home/dumps/jit-1.dump" "$T/home/moved" "$T/vault/dumps" </dev/null
    keeps dump
else
    skip "code generated at run time" "the program has code for x86-64 only"
fi

# ---- what must still be found ----

mkdir -m 700 private
printf 'text\n\n/* root-text */ int a;\n\n\n' >private/own.c
compile private/own "$T/private/own.c"
ok "root's own program: recorded" "$INFEROGRAM" record -q --sample=997 -f -o traces/own.ifg -- private/own 0.4
ok "root's own sources are in the trace" holds traces/own.ifg root-text

mkdir -m 700 home/closed
printf 'text\n\n/* users-text */ int a;\n\n\n' >home/closed/own.c
compile home/closed/own "$T/home/closed/own.c"
chown -R 61001:61001 home/closed
record user home/closed/own 2
ok "so are those of a user, in a directory of his alone" holds traces/user.ifg users-text

mkdir -p jail/src
compile jail/program /src/inside.c -static
printf 'text\n\n/* inside-text */ int a;\n\n\n' >jail/src/inside.c
ok "in another root directory: recorded" "$INFEROGRAM" record -q --sample=997 -f -o traces/jail.ifg -- chroot --userspec=61001:61001 jail /program 2
ok "sources of another root directory are in the trace" holds traces/jail.ifg inside-text
ok "the function has its name there" named jail hot_function

mkdir empty
if unshare -m mount -t tmpfs none "$T/empty" 2>/dev/null; then
    compile spaced "$T/empty/spaced.c"
    # shellcheck disable=SC2016 # for the shell inside
    ok "among other mounts: recorded" "$INFEROGRAM" record -q --sample=997 -f -o traces/space.ifg -- unshare -m sh -c '
        mount -t tmpfs -o mode=755 none "$1" && printf "text\n\n/* mounted-text */ int a;\n\n\n" >"$1/spaced.c" &&
            setpriv --reuid=61001 --regid=61001 --clear-groups ./spaced 0.4' sh "$T/empty"
    ok "sources of other mounts are in the trace" holds traces/space.ifg mounted-text
else
    skip "sources of other mounts" "namespaces: nothing can be mounted here"
fi

# ---- the recorder is an ordinary user, with a capability that opens every file ----

chmod 711 traces
mkdir -m 777 traces/open
caps=+perfmon,+dac_read_search,+sys_ptrace
if setpriv --reuid=61001 --regid=61001 --clear-groups --inh-caps=$caps --ambient-caps=$caps true 2>/dev/null; then
    cp "$INFEROGRAM" inferogram
    chmod 755 inferogram
    ok "with capabilities: recorded" setpriv --reuid=61001 --regid=61001 --clear-groups --inh-caps=$caps --ambient-caps=$caps \
        "$T/inferogram" record -q --sample=997 -f -o traces/open/raised.ifg -- home/source 0.4
    keeps open/raised
    ok "with capabilities: the function has its name" named open/raised hot_function
else
    skip "a recorder with capabilities" "ambient capabilities cannot be had here"
fi
done_testing
