#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a recording is stopped: --duration, Ctrl-C on a real terminal, signals to the recorder alone.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
on_terminal() { python3 "$SOURCE_DIR/tests/e2e/record_pty.py" "$@"; }

# ---- --duration ------------------------------------------------------------------------------------
exits "--duration passes the status of the command on" 6 "$INFEROGRAM" record -o duration.ifg \
    --duration 300ms -- "$REC_TICKER" -s 4 -x 6
contains "that recording stopped is told" "$(cat stderr)" "recording has stopped; waiting for rec_ticker"
is "the trace is finished" "$(json duration.ifg "d['file']['finished']")" True
is "and as long as it should be" "$(json duration.ifg "d['duration_s'] > 0.2")" True
is "the reason is in it" "$(json duration.ifg "d['facts']['record.end']")" "the duration was over"
is "the process goes on" "$(json duration.ifg "d['processes'][0]['end']")" "still running"
ticker -s 3000
exits "--duration of an attached recording ends with 0" 0 "$INFEROGRAM" record -o attached.ifg \
    --duration 1 --pid "$ticker"
contains "the program goes on" "$(cat stderr)" "rec_ticker goes on; recorded"
ok "really" tap_alive "$ticker"
ok "with zones" test "$(count attached.ifg tick)" -gt 0

# ---- Ctrl-C on a terminal --------------------------------------------------------------------------
on_terminal 1 ready "$INFEROGRAM" record -o int.ifg -- "$REC_TICKER" -s 30 -p >int.out
contains "Ctrl-C ends the command, its status is passed on" "$(cat int.out)" "status 130"
is "the trace is finished" "$(json int.ifg "d['file']['finished']")" True
is "the end of the program is known" "$(json int.ifg "d['processes'][0]['end']")" \
    "killed by signal 2"
ok "with zones" test "$(count int.ifg tick)" -gt 0
on_terminal 1 ready "$INFEROGRAM" record -o got.ifg -- "$REC_TICKER" -s 30 -g -p >got.out
contains "a command that handles Ctrl-C gets it once" "$(cat got.out)" "got 2"
contains "and its status is passed on" "$(cat got.out)" "status 3"
is "and it is recorded to its end" "$(json got.ifg "d['processes'][0]['end']")" "exited with 3"
is "nothing is unfinished" "$(json got.ifg "d['unfinished']")" "[]"

# nohup (in case the terminal goes away), a stubborn command: the second Ctrl-C leaves it running.
on_terminal 2 ready "$INFEROGRAM" record -o stubborn.ifg -- "$REC_TICKER" -s 30 -i -p -m mark >stubborn.out
stubborn=$(sed -n 's/^.*ready \([0-9]*\).*/\1/p' stubborn.out)
contains "the second Ctrl-C leaves a stubborn command running" "$(cat stubborn.out)" \
    "rec_ticker goes on; recorded"
is "with a finished trace" "$(json stubborn.ifg "d['file']['finished']")" True
before=$(od -An -tu8 mark)
has_ticked() { test "$before" != "$(od -An -tu8 mark)"; }
ok "it lives on" until_true 60 has_ticked
kill -KILL "$stubborn"

on_terminal 1 recording "$INFEROGRAM" record -o stop.ifg --pid "$ticker" >stop.out
contains "Ctrl-C stops an attached recording with 0" "$(cat stop.out)" "status 0"
contains "the program goes on" "$(cat stop.out)" "rec_ticker goes on; recorded"
ok "unharmed" tap_alive "$ticker"
is "the trace is finished" "$(json stop.ifg "d['file']['finished']")" True
is "the reason is in it" "$(json stop.ifg "d['facts']['record.end']")" "stopped by the user"
on_terminal 0 recording "$INFEROGRAM" record -o live.ifg --duration 1 --pid "$ticker" >live.out
contains "a live line on a terminal" "$(cat live.out)" "dropped"
NO_COLOR=1 on_terminal 0 x "$INFEROGRAM" info live.ifg >nocolor.out
lacks "no colours with NO_COLOR" "$(cat nocolor.out)" "$(printf '\033')"

# ---- signals to the recorder alone -----------------------------------------------------------------
for signal in INT TERM; do
    recorder -o "alone-$signal.ifg" -- "$REC_TICKER" -s 30 -g -p
    until_true 60 grep -q ready recorder.out
    kill "-$signal" "$recorder"
    ended "$recorder"
    is "SIG$signal to the recorder is passed on to the command" "$status" 3
    is "once" "$(grep -c '^got' recorder.out)" 1
    is "its trace is finished" "$(json "alone-$signal.ifg" "d['file']['finished']")" True
done
# Whoever started the tests may ignore it (nohup, some CI systems).
spawn env --default-signal=HUP "$INFEROGRAM" record -o hup.ifg --pid "$ticker" >hup.out 2>&1
recorder=$spawned
until_true 60 grep -q recording hup.out
kill -HUP "$recorder"
ended "$recorder"
is "SIGHUP stops an attached recording" "$status" 0
spawn nohup "$INFEROGRAM" record -o nohup.ifg --pid "$ticker" >nohup.out 2>&1
recorder=$spawned
until_true 60 grep -q recording nohup.out
kill -HUP "$recorder"
sleep 0.3
ok "but not under nohup" tap_alive "$recorder"
kill -TERM "$recorder"
ended "$recorder"
is "SIGTERM stops it" "$status" 0
recorder -o stubborn2.ifg -- "$REC_TICKER" -s 30 -i -p
until_true 60 grep -q ready recorder.out
kill -INT "$recorder"
until_true 60 took_signals "$recorder"
ok "a stubborn command is waited for" tap_alive "$recorder"
kill -INT "$recorder"
ended "$recorder"
is "the second signal ends the recording" "$status" 0
is "with a finished trace" "$(json stubborn2.ifg "d['file']['finished']")" True
kill -KILL "$(sed -n 's/^ready //p' recorder.out)"

done_testing
