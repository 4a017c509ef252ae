#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# record --pid, --name, --path and ls: finding running programs, recording them, letting go.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
record() { "$INFEROGRAM" record "$@"; }
ls_json() {
    "$INFEROGRAM" ls --json >ls.json 2>/dev/null
    python3 -c 'import json,sys
d = json.load(open("ls.json"))
p = {q["pid"]: q for q in d["processes"]}
print(eval(sys.argv[1]))' "$1" 2>&1
}
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# ---- by pid ----------------------------------------------------------------------------------------
ticker -s 3000 -f
exits "--pid" 0 record -o pid.ifg --duration 1s --pid "$ticker"
contains "tells what it records" "$(cat stderr)" "recording rec_ticker (pid $ticker)"
ok "finds zones" test "$(count pid.ifg tick)" -ge 1
exits "a process that is gone" 1 record --pid 4194000
contains "is told" "$(cat stderr)" "there is no process 4194000"
for wrong in abc 12x '' -5 0 99999999999; do
    exits "--pid '$wrong' is a usage error" 2 record --pid "$wrong"
done
spawn sleep 60
exits "a process without the library" 1 record --pid "$spawned"
contains "what to do is told" "$(cat stderr)" "does not carry libinferogram"
is "no file is left by any of these" "$(find . -name 'inferogram-*')" ""

# ---- ls --------------------------------------------------------------------------------------------
exits "ls" 0 "$INFEROGRAM" ls
matches "lists the program" "$(cat stdout)" "^ *$ticker +[^ ]+ +rec_ticker +record --pid +.*rec_ticker -p -s 3000"
without=$(grep "^ *$spawned " stdout)
is "but not one without the library" "$without" ""
recorder -o launched.ifg -- "$REC_TICKER" -p -s 60
until_true 60 grep -q ready recorder.out
exits "ls, of one that is being recorded" 0 "$INFEROGRAM" ls
launched=$(sed -n 's/^ready //p' recorder.out)
matches "lists it" "$(cat stdout)" "^ *$launched +[^ ]+ +rec_ticker +recorded by $recorder +- "
kill -TERM "$recorder"
ended "$recorder"
is "ls --json" "$(ls_json "(d['schema'], p[$ticker]['name'], p[$ticker]['recorder'])")" \
    "(1, 'rec_ticker', 0)"
recorder -o first.ifg --pid "$ticker"
is "ls --json tells who records" "$(ls_json "p[$ticker]['recorder']")" "$recorder"
matches "so does ls" "$("$INFEROGRAM" ls 2>/dev/null)" "^ *$ticker .* recorded by $recorder "

# ---- one recorder at a time ------------------------------------------------------------------------
echo precious >second.ifg
exits "a second recorder is refused" 1 record -f -o second.ifg --pid "$ticker"
contains "with the first one's pid" "$(cat stderr)" "already being recorded, by process $recorder"
is "before its file is replaced" "$(cat second.ifg)" precious
kill -INT "$recorder"
ended "$recorder"
is "the first one ends well" "$status" 0
is "ls shows it free" "$(ls_json "p[$ticker]['recorder']")" 0
recorder -o killed.ifg --pid "$ticker"
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ok "a killed recorder does not harm the program" tap_alive "$ticker"
is "ls shows it free" "$(ls_json "p[$ticker]['recorder']")" 0
exits "it can be recorded again" 0 record -o again.ifg --duration 1s --pid "$ticker"
ok "with zones" test "$(count again.ifg tick)" -ge 1
is "and no old ones" "$(json again.ifg "d['end_ns'] - d['begin_ns'] < 5e9")" True

# ---- fork while attached ---------------------------------------------------------------------------
recorder -o fork.ifg --pid "$ticker"
kill -USR1 "$ticker"
child_ticked() { test "$(count fork.ifg 'child tick')" -gt 100; }
until_true 60 child_ticked
kill -INT "$recorder"
ended "$recorder"
is "a child forked while attached is recorded" "$(json fork.ifg "len(d['pids'])")" 2
ok "with zones" test "$(count fork.ifg 'child tick')" -gt 100

# ---- exec while attached ----------------------------------------------------------------------------
first=$ticker
ticker -e -g -s 60
replaced=$ticker
ticker=$first
recorder -o exec.ifg --pid "$replaced"
kill -TERM "$replaced" # the end of the first one
is_second() { [ "$(json exec.ifg "len(d['processes']) == 2 and len(d['processes'][1]['threads'])")" = 1 ]; }
until_true 60 is_second
kill -TERM "$replaced"
ended "$recorder"
is "a program that replaces itself by exec while attached" "$status" 0
is "is two processes of one pid" "$(json exec.ifg "len(d['pids']) == 2 and len(set(d['pids'])) == 1")" True
is "the first replaced by exec" "$(json exec.ifg "d['processes'][0]['end']")" "replaced by exec"
is "the second with a thread" "$(json exec.ifg "len(d['processes'][1]['threads'])")" 1
is "info has one line for both" "$("$INFEROGRAM" info exec.ifg | grep -c " $replaced  ")" 1
matches "which is marked" "$("$INFEROGRAM" info exec.ifg)" " $replaced  .*rec_ticker .* \\(exec, 1 thread, "

# ---- by name and path ------------------------------------------------------------------------------
mkdir bin
mine=mine-$$ # others may run these tests at the same time
cp "$REC_TICKER" "bin/$mine"
ln -s "$LIBINFEROGRAM" bin/libinferogram.so.0
export LD_LIBRARY_PATH="$T/bin"
begun() { # starts one and waits for its first zone; its id is in $spawned
    : >begun.out
    spawn "bin/$mine" -p -s 60 >begun.out
    until_true 60 grep -q ready begun.out
}
begun
oldest=$spawned
begun
younger=$spawned
exits "--name takes the oldest" 0 record -o name.ifg --duration 100ms --name "$mine"
contains "which is this one" "$(cat stderr)" "(pid $oldest)"
contains "the other is listed" "$(cat stderr)" "also matches, not recorded: pid $younger ($mine)"
exits "--path of a binary" 0 record -o path.ifg --duration 100ms --path "bin/$mine"
contains "takes the oldest, too" "$(cat stderr)" "recording $mine (pid $oldest)"
exits "an unknown name" 1 record --name no-such-name
contains "is told" "$(cat stderr)" "no running process has the name 'no-such-name'"
exits "an unknown path" 1 record --path /no/such/path
cat >script.py <<END
import ctypes, time
ctypes.CDLL("$LIBINFEROGRAM")
time.sleep(60)
END
if python3 -c "import ctypes; ctypes.CDLL('$LIBINFEROGRAM')" 2>/dev/null; then
    spawn python3 script.py
    script=$spawned
    carries "$script"
    exits "--path of a script" 0 record -o script.ifg --duration 100ms --path "$T/script.py"
    contains "finds its interpreter" "$(cat stderr)" "(pid $script)"
else
    skip "--path of a script" "python3 cannot load this build of the library (a sanitizer?)"
fi
unset LD_LIBRARY_PATH

# ---- rights ----------------------------------------------------------------------------------------
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    skip "another user's process" "root: needs root and setpriv"
else
    chmod 755 "$T"
    exits "another user's process is refused with 4" 4 as_nobody "$INFEROGRAM" record \
        -o "$T/other.ifg" --pid "$ticker"
    contains "and why" "$(cat stderr)" "cannot look into process $ticker (rec_ticker): it belongs to root"
    contains "and what to do" "$(cat stderr)" "record it as that user, or with sudo"
    exits "ls as an ordinary user" 0 as_nobody "$INFEROGRAM" ls
    matches "tells what it could not see" "$(cat stderr)" "try sudo"
    # A link that looks like the directory of a dead recorder must not be followed.
    mkdir victim && touch victim/keep
    ln -s "$T/victim" /dev/shm/inferogram-0-4194001-link$$
    mkdir /dev/shm/inferogram-0-4194002-stale$$
    touch /dev/shm/inferogram-0-4194002-stale$$/1-2
    record -q -o link.ifg -- true 2>/dev/null
    ok "a link in /dev/shm is not followed" test -e victim/keep
    ok "a stale directory is removed" test ! -e /dev/shm/inferogram-0-4194002-stale$$
    rm -f /dev/shm/inferogram-0-4194001-link$$
    mkdir /dev/shm/inferogram-0-4194003-other$$
    touch /dev/shm/inferogram-0-4194003-other$$/1-2
    chown -R 65534 /dev/shm/inferogram-0-4194003-other$$
    record -fqo link.ifg -- true 2>/dev/null
    ok "a directory of somebody else is left alone" test -e /dev/shm/inferogram-0-4194003-other$$/1-2
    rm -rf /dev/shm/inferogram-0-4194003-other$$
fi

# ---- the program ends while attached, many attachments under load ----------------------------------
ticker -s 60 -g
recorder -o ends.ifg --pid "$ticker"
kill -TERM "$ticker"
ended "$recorder"
is "the program ends: the recorder ends with 0" "$status" 0
contains "and tells" "$(cat recorder.err)" "rec_ticker ended; recorded"
is "its outer zone began before, so it is not there" "$(count ends.ifg outer)" 0
ended "$ticker"
is "the program's own status is unchanged" "$status" 3

ticker -s 300 -b
bad=
for cycle in 1 2 3 4 5 6 7 8 9 10; do
    # Only what happens in that time is in the trace, and the program may have to wait for a CPU: then again, longer.
    for duration in 300ms 3s 30s; do
        record -fqo cycle.ifg --duration "$duration" --pid "$ticker" || bad="$bad $cycle:$?"
        found=$(json cycle.ifg "d['file']['finished'], d['events']['zones'] > 1000, d['losses']")
        [ "$found" = "(True, False, [])" ] || break
    done
    [ "$found" = "(True, True, [])" ] || bad="$bad $cycle:$found"
done
is "ten attachments under load" "$bad" ""
ok "the program lives" tap_alive "$ticker"
kill "$ticker"

# ---- IFG_WAIT --------------------------------------------------------------------------------------
(
    IFG_WAIT=1 "$REC_TICKER" -c 5000 -x 9 2>wait.err
    echo $? >wait.status
) &
until_true 60 grep -q waiting wait.err
pid=$(sed -n 's/.*--pid //p' wait.err)
contains "IFG_WAIT=1: the program tells how to record it" "$(cat wait.err)" \
    "inferogram record --pid $pid"
exits "a program that has ended and waits is recorded" 0 record -o wait.ifg --pid "$pid"
is "with everything that it did" "$(count wait.ifg tick)" 5000
is "also the outermost zone" "$(count wait.ifg outer)" 1
until_true 60 test -s wait.status
is "its own status is unchanged" "$(cat wait.status)" 9
exits "IFG_WAIT_TIMEOUT=1 with nobody there" 9 env IFG_WAIT=1 IFG_WAIT_TIMEOUT=1 "$REC_TICKER" -c 5 -x 9
contains "ends with its line" "$(cat stderr)" "nobody recorded this program in time"

done_testing
