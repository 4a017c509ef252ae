#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# record -- CMD: the command runs as it would without us, its status is passed on, and files are created
# and replaced only as told.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
record() { "$INFEROGRAM" record "$@"; }

# ---- exit status -----------------------------------------------------------------------------------
exits "status 0 is passed on" 0 record -o s0.ifg -- "$REC_TICKER" -c 100
contains "the start is told" "$(cat stderr)" "recording rec_ticker (pid "
contains "the end is told" "$(cat stderr)" "rec_ticker exited with 0; recorded"
matches "the next step is told" "$(cat stderr)" "next: inferogram (info|report) s0.ifg"
is "nothing of ours on stdout" "$(cat stdout)" ""
is "every zone is in the trace" "$(count s0.ifg tick)" 100
is "the outer zone too" "$(count s0.ifg outer)" 1
exits "status 7 is passed on" 7 record -o s7.ifg -- "$REC_TICKER" -c 10 -x 7
is "and is in the trace" "$(json s7.ifg "d['processes'][0]['end']")" "exited with 7"
exits "SIGKILL gives 137" 137 record -o s9.ifg -- "$REC_TICKER" -c 10 -k 9
contains "the signal is told" "$(cat stderr)" "was killed by signal 9"
is "zones of a killed program are there" "$(count s9.ifg tick)" 10
is "its open zone is unfinished" "$(json s9.ifg "[u['name'] for u in d['unfinished']]")" "['outer']"
exits "SIGSEGV gives 139" 139 record -o s11.ifg -- "$REC_TICKER" -c 10 -k 11
exits "a short recording" 0 record -q -o short.ifg -- sleep 0.4
is "whoever reads along soon knows how fast the clock runs" \
    "$("$INFEROGRAM" query short.ifg "SELECT min(pairs) >= 4 FROM clock" --csv | tail -n 1 | tr -d "\r")" 1
exits "--quiet says nothing" 0 record -q -o quiet.ifg -- "$REC_TICKER" -c 10
is "neither on stderr" "$(cat stderr)" ""

# ---- what the command sees -------------------------------------------------------------------------
cat >probe.sh <<'END'
echo "arguments $#"
for argument in "$@"; do printf '<%s>\n' "$argument"; done
pwd
env | grep -v -e '^_=' -e '^IFG_SESSION=' | sort
ulimit -a
cat /proc/self/timerslack_ns 2>/dev/null
grep -e '^Sig[^Q]' -e '^Shd' /proc/self/status # SigQ counts what all programs of the user have
ls /proc/self/fd
cat
echo to stderr >&2
END
printf 'a line\0and more\n' >stdin
sh probe.sh 'two words' '' '*' "$(printf 'tab\tnewline\nend')" --help <stdin >plain.out 2>plain.err
record -q --hook none -o probe.ifg -- sh probe.sh 'two words' '' '*' "$(printf 'tab\tnewline\nend')" --help \
    <stdin >recorded.out 2>recorded.err
is "without hooks, arguments, environment, limits, signals, descriptors and input are as without us" \
    "$(diff -a plain.out recorded.out)" ""
is "standard error too" "$(diff plain.err recorded.err)" ""
ok "one more variable" record -q -o session.ifg -- sh -c 'test -n "$IFG_SESSION"'
head -c 3000000 /dev/urandom >big
record -q -o cat.ifg -- cat <big >big.out 2>/dev/null
ok "three megabytes through a pipe of ours are the same" cmp big big.out

# Signals that the caller ignores stay ignored; SIGCHLD ignored does not lose the status.
python3 - "$INFEROGRAM" "$T/ignored.ifg" <<'END' >ignored.out 2>&1
import os, signal, subprocess, sys
def ignore():
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
for command in (['sh', '-c', 'exit 7'], ['grep', 'SigIgn:', '/proc/self/status']):
    pid = os.fork()
    if pid == 0:
        ignore()
        os.execv(sys.argv[1], [sys.argv[1], 'record', '-fqo', sys.argv[2], '--', *command])
    print('status', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
contains "a caller that ignores SIGCHLD gets the status" "$(cat ignored.out)" "status 7"
ignored=$(sed -n 's/^SigIgn:[[:space:]]*//p' ignored.out)
# Bits 0 (HUP), 1 (INT), 16 (CHLD); not 12 (PIPE, which Python restores) and 24 (XFSZ).
is "ignored signals stay ignored for the command" "$((0x$ignored & 0x10003))" "$((0x10003))"

# ---- the command cannot be started -----------------------------------------------------------------
exits "an unknown command gives 127" 127 record -o none.ifg -- no-such-command-here
contains "and is told" "$(cat stderr)" "cannot start no-such-command-here: there is no such command"
exits "an unknown path gives 127" 127 record -o none.ifg -- ./no/such/file
echo data >plain-file
chmod 644 plain-file
exits "a file that is not executable gives 126" 126 record -o none.ifg -- ./plain-file
contains "and is told" "$(cat stderr)" "cannot start ./plain-file"
exits "a directory gives 126" 126 record -o none.ifg -- /
printf '#!/no/such/interpreter\n' >script
chmod 755 script
exits "a missing interpreter gives 127" 127 record -o none.ifg -- ./script
ok "no trace is left" test ! -e none.ifg

# ---- the output file -------------------------------------------------------------------------------
echo precious >kept.ifg
exits "an existing file is not overwritten" 125 record -o kept.ifg -- touch started
contains "what to do is told" "$(cat stderr)" \
    "kept.ifg exists; give another name with -o or replace it with -f"
is "its contents are untouched" "$(cat kept.ifg)" precious
ok "the command was not started" test ! -e started
exits "-f with a command that is not there" 127 record -f -o kept.ifg -- no-such-command-here
is "keeps the file" "$(cat kept.ifg)" precious
exits "-f with a command that is not executable" 126 record -f -o kept.ifg -- ./plain-file
is "keeps the file" "$(cat kept.ifg)" precious
exits "-f replaces it" 0 record -f -o kept.ifg -- "$REC_TICKER" -c 10
is "by a trace" "$(count kept.ifg tick)" 10
exits "a directory as output" 125 record -f -o . -- touch started
contains "is told" "$(cat stderr)" "is a directory"
exits "a missing directory" 125 record -o no/such/t.ifg -- touch started
contains "is told" "$(cat stderr)" "directory no/such does not exist"
exits "an empty name is a usage error" 2 record -o '' -- touch started
ok "none of these started the command" test ! -e started
long=$(printf '%05000d' 0)
exits "a name that is far too long" 125 record -o "$long" -- touch started
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    exits "an unwritable directory" 125 record -o locked/t.ifg -- touch started
elif command -v setpriv >/dev/null; then
    mkdir locked && chmod 755 . locked
    exits "an unwritable directory" 125 setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$INFEROGRAM" record -o locked/t.ifg -- touch started
    contains "is told with its name" "$(cat stderr)" "cannot create locked/t.ifg"
else
    skip "an unwritable directory" "needs setpriv, or an ordinary user"
fi

mkdir default && cd default || exit 1
exits "the default name" 0 record -- "$REC_TICKER" -c 10
matches "has program, pid and time" "$(ls)" '^inferogram-rec_ticker-[0-9]+-[0-9]{6}\.ifg$'
cd .. || exit 1
mkdir odd && cd odd || exit 1
name=$(printf 'my prog\033[31m\nx')
ln -s "$REC_TICKER" "$name"
exits "a program with an odd name" 0 record -- "./$name" -c 10
lacks "its name does not reach the terminal as it is" "$(cat ../stderr)" "$(printf '\033')"
is "nor the default file name" "$(find . -name 'inferogram-*' | tr -d '[:print:]\n')" ""
is "one file was written" "$(find . -name 'inferogram-my prog_*' | wc -l)" 1
cd .. || exit 1

# ---- programs without the library, pipes, long command lines ---------------------------------------
exits "a program without the library keeps its status" 5 record -o without.ifg -- sh -c 'exit 5'
matches "what is missing is told" "$(cat stderr)" "nothing was recorded: neither sh nor its children .*carry libinferogram"
is "its trace can be read" "$(json without.ifg "[i['state'] for i in d['instruments'] if i['name'] == 'zones']")" "['unavailable']"
# Whoever started the tests may ignore it (programs in Python do).
env --default-signal=PIPE sh -c '"$1" record -q -o head.ifg -- sh -c "yes | head -c 100000; exec yes"; echo $? >status' sh \
    "$INFEROGRAM" 2>/dev/null | head -n 1 >/dev/null
until_true 60 test -s status
is "a closed pipe ends the command by SIGPIPE" "$(cat status)" 141
sh -c '"$1" record -o closed.ifg -- "$2" -c 200 2>&1 | true; true' sh "$INFEROGRAM" "$REC_TICKER"
is "nobody listening to our talk does not end a recording" "$(count closed.ifg tick)" 200
many=$(seq 1 20000)
# shellcheck disable=SC2086
record -q -o many.ifg -- sh -c 'echo $#' sh $many >many.out
is "twenty thousand arguments" "$(cat many.out)" 20000
ok "are a trace that can be read" "$INFEROGRAM" info many.ifg

# ---- children --------------------------------------------------------------------------------------
exits "children of a shell" 0 record --no-resources -o children.ifg -- sh -c \
    '"$1" -c 100 & "$1" -c 200 & wait' sh "$REC_TICKER"
is "are both recorded" "$(count children.ifg tick)" 300
is "as processes of their own" "$(json children.ifg "len(d['pids'])")" 2
exits "grandchildren" 0 record -o grand.ifg -- sh -c \
    'sh -c "sh -c \"$1 -c 150; true\"; true"; true' sh "$REC_TICKER"
is "are recorded" "$(count grand.ifg tick)" 150
exits "a program behind exec" 4 record -o exec.ifg -- sh -c 'exec "$1" -c 50 -x 4' sh "$REC_TICKER"
is "is recorded" "$(count exec.ifg tick)" 50
exits "a child with an empty environment" 0 record -o env.ifg -- env -i "$REC_TICKER" -s 1
ok "is found by its parent" test "$(count env.ifg tick)" -gt 0
exits "a daemon that outlives its parent" 0 record -o daemon.ifg -- "$REC_TICKER" -d -s 2
matches "is told to go on" "$(cat stderr)" "goe?s? on without being recorded"
is "what its parent did is there" "$(count daemon.ifg before)" 1
exits "a child that its parent takes along, after the duration is over" 0 \
    record --duration 0.3 -o taken.ifg -- sh -c '"$1" -c 700 & wait' sh "$REC_TICKER"
lacks "is not told to go on" "$(cat stderr)" "without being recorded"
exits "a daemon while its grandparent lives" 0 record -o daemon2.ifg -- sh -c \
    '"$1" -d -c 300; sleep 1.5' sh "$REC_TICKER"
is "is recorded as long as that" "$(count daemon2.ifg tick)" 300

# Which of two recorders comes first is not ours to say: again, until it is the inner one.
for try in 1 2 3 4 5 6; do
    exits "a program that another recorder has (try $try)" 0 record -f -o outer.ifg -- \
        "$INFEROGRAM" record -q -f -o inner.ifg -- "$REC_TICKER" -s 2
    if grep -q "already being recorded" stderr; then break; fi
done
matches "why not by both is said" "$(cat stderr)" \
    'nothing was recorded: process [0-9]+ is already being recorded, by process [0-9]+; stop that'
lacks "it does carry the library" "$(cat stderr)" "carry libinferogram"
ok "that one records it" test "$(count inner.ifg tick)" -gt 0
matches "the trace says it, too" "$("$INFEROGRAM" info outer.ifg)" \
    '1 process not recorded: process [0-9]+ is already being recorded'
for try in 1 2 3 4 5 6; do
    exits "beside one that nobody else has (try $try)" 0 record -f -o outer.ifg -- sh -c \
        '"$2" -c 100; "$1" record -q -f -o inner.ifg -- "$2" -s 2' sh "$INFEROGRAM" "$REC_TICKER"
    if grep -q "was not recorded" stderr; then break; fi
done
contains "the other one is counted" "$(cat stderr)" "1 process of it was not recorded: process "
is "that one is recorded" "$(count outer.ifg tick)" 100

# A program that is gone before anybody could look still has its name.
for round in 1 2 3; do
    "$INFEROGRAM" record -q -f -o short.ifg -- "$REC_TICKER" -b -c 1
    contains "a very short program, $round" "$(json short.ifg "d['processes'][0]['arguments']")" "-b -c 1"
done

done_testing
