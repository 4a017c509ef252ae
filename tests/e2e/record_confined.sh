#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that confine themselves (seccomp, no clock) and carry the library: they write and end as they do
# when nobody records them, and the trace says what was left out.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
case $SANITIZE in
*address* | *thread*) skip_all "a sanitizer's own system calls are forbidden" ;;
esac
"$REC_CONFINED" prctl </dev/null >/dev/null 2>&1
printf sq | "$REC_CONFINED" prctl >/dev/null 2>&1
[ $? -eq 7 ] || skip_all "seccomp is not available here"

# launched WAY LETTERS [OPTIONS]: status in $status, output in got, the trace in c.ifg.
launched() {
    way=$1
    letters=$2
    shift 2
    status=0
    printf %s "$letters" | timeout 60 "$INFEROGRAM" record -q -f -o c.ifg "$@" -- "$REC_CONFINED" "$way" >got 2>err || status=$?
}

said() {
    json c.ifg "[i['reason'] for i in d['instruments'] if i['name'] == 'confined programs']"
}

for way in prctl syscall raw; do
    launched "$way" bswwbtwbq
    is "$way, launched: ends as ever" "$status" 7
    is "$way, launched: writes as ever" "$(cat got)" bswwbtwb
    [ "$status" -eq 7 ] || note "$(cat err)"
    ok "$way, launched: zones before and in it" test "$(count c.ifg zone)" -gt 30000
    ok "$way, launched: a new thread in it" test "$(count c.ifg thread)" -gt 1000
    matches "$way, launched: the trace says it" "$(said)" "seccomp filter"
    launched "$way" sfbq
    is "$way, launched: a child in it ends as ever" "$status" 7
    launched "$way" bswbbbbq --lossless
    is "$way, launched: waits without sleeping" "$status" 7
    is "$way, launched: nothing is lost then" "$(count c.ifg zone)" 100000
done

for way in strict strict-syscall tsc; do
    launched "$way" bsbwq
    is "$way, launched: ends as ever" "$status" 7
    is "$way, launched: writes as ever" "$(cat got)" bsbw
    is "$way, launched: what was before is there" "$(count c.ifg zone)" 20000
    matches "$way, launched: the trace says it" "$(said)" "left alone"
done

launched prctl swbq --memory
is "with --memory: ends as ever" "$status" 7
launched strict bsbq --memory
is "strict, with --memory: ends as ever" "$status" 7

# ---- processes that run already ----

# start WAY: a program that waits for letters, which are sent to it by `letters`.
start() {
    rm -f pipe out
    mkfifo pipe
    : >out
    exec 9<>pipe # both ways: opening it does not wait for anybody
    spawn "$REC_CONFINED" "$1" pipe >out 2>/dev/null
    program=$spawned
    sent=
}

# letters TEXT: returns when they are done.
letters() {
    sent=$sent$1
    printf %s "$1" >&9
    until_true 60 wrote "$sent" || fail "the program does what it is told ($1)"
}

wrote() {
    [ "$(cat out)" = "$1" ]
}

finish() {
    printf q >&9
    exec 9>&-
    ended "$program"
}

for way in prctl syscall raw untold; do
    start "$way"
    letters sb
    recorder -f -o c.ifg --pid "$program"
    letters bwbtfb
    finish
    is "$way, confined before it is recorded: ends as ever" "$status" 7
    ended "$recorder"
    is "$way: the recorder ends as ever" "$status" 0
    ok "$way: it is recorded" test "$(count c.ifg zone)" -gt 1000
    ok "$way: with a new thread" test "$(count c.ifg thread)" -gt 1000

    start "$way"
    letters b
    recorder -f -o c.ifg --pid "$program"
    letters bsbwbtb
    # A child makes memory of its own, unless its parent was known to be confined.
    [ "$way" = untold ] || letters f
    finish
    is "$way, confined while it is recorded: ends as ever" "$status" 7
    ended "$recorder"
    ok "$way: it is recorded all the time" test "$(count c.ifg zone)" -gt 40000
done

for way in strict strict-syscall tsc; do
    start "$way"
    letters bs
    exits "$way, confined before: is left alone" 2 timeout 60 "$INFEROGRAM" record -f -o c.ifg --pid "$program"
    matches "$way: with a sentence" "$(cat stderr)" "left alone"
    letters b
    finish
    is "$way, confined before: ends as ever" "$status" 7

    start "$way"
    letters b
    recorder -f -o c.ifg --pid "$program"
    letters bsb
    finish
    is "$way, confined while it is recorded: ends as ever" "$status" 7
    ended "$recorder"
    is "$way: what was before is there" "$(count c.ifg zone)" 20000
    matches "$way: the trace says it" "$(said)" "left alone"
done

done_testing
