#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --lossless: nothing is dropped, however fast the program and busy the machine; and a recorder that dies
# does not take the program with it.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
ZONES=${ZONES:-5000000}

spawn sh -c 'while :; do :; done'
busy=$spawned
exits "--lossless with a tight loop on a busy machine" 0 "$INFEROGRAM" record --lossless \
    -o lossless.ifg -- "$REC_TICKER" -b -c "$ZONES"
is "nothing is dropped" "$(json lossless.ifg "(d['dropped'], d['losses'])")" "(0, [])"
is "every zone is there" "$(count lossless.ifg tick)" "$ZONES"
exits "--lossless with two threads" 0 "$INFEROGRAM" record --lossless -o two.ifg -- \
    "$REC_TICKER" -b -t 2 -c $((ZONES / 4))
is "every zone of both is there" "$(json two.ifg "(d['dropped'], d['events']['zones'])")" \
    "(0, $((ZONES / 2 + 1)))"
kill "$busy"

"$INFEROGRAM" record -q -o lossy.ifg -- "$REC_TICKER" -b -c "$ZONES"
is "without it, what is dropped is counted" \
    "$(json lossy.ifg "d['events']['zones'] + d['dropped']")" $((ZONES + 1))

# A recorder that is stopped makes the program wait; one that is killed sets it free.
for way in launch attach; do
    rm -f mark
    if [ "$way" = launch ]; then
        recorder --lossless -o dead.ifg -- "$REC_TICKER" -b -p -s 6
        until_true 60 grep -q ready recorder.out
        program=$(sed -n 's/ready //p' recorder.out)
        tap_pids="$tap_pids $program"
    else
        ticker -b -s 6
        program=$ticker
        recorder -f --lossless -o dead.ifg --pid "$program"
    fi
    sleep 0.3
    kill -STOP "$recorder"
    # It fills what is left of its memory first, which takes as long as it has to wait for a CPU.
    used_time() { cut -d' ' -f14 "/proc/$program/stat"; }
    waits() {
        before=$(used_time)
        sleep 0.3
        [ $(($(used_time) - before)) -lt 15 ]
    }
    ok "$way: the program waits for a stopped recorder" until_true 5 waits
    kill -KILL "$recorder"
    wait "$recorder" 2>/dev/null
    ok "$way: it goes on when the recorder is killed, and ends" until_true 60 not_alive "$program"
    exits "$way: what was recorded can be read" 0 "$INFEROGRAM" info dead.ifg
done

done_testing
