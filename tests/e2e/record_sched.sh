#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --sched: wakeups, in programs whose threads wake each other in a known way; waits for a CPU; waits that
# nothing interrupts; names of threads without zones; and what is said where wakeups cannot be seen.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1

instrument() { # FILE NAME: "on reason", "off reason", "unavailable reason"
    "$INFEROGRAM" query "$1" "SELECT state || ' ' || reason FROM instrument WHERE name = '$2'" --csv | tail -1 | tr -d '\r"'
}

ask() { # FILE SQL: the first value of the first row
    "$INFEROGRAM" query "$1" "$2" --csv 2>&1 | sed -n 2p | tr -d '\r'
}

"$INFEROGRAM" record -q --no-sample --sched -f -o can.ifg -- true
can=$(instrument can.ifg wakers)
note "wakers: $can"
if [ -z "$(ask can.ifg 'SELECT count(*) FROM thread_state')" ] && [ "${can%% *}" != on ]; then
    skip_all "samples: no switches here: $can"
fi

# What everybody can have: switches.
ok "a crowd on one CPU" "$INFEROGRAM" record -q --no-sample --sched -f -o crowd.ifg -- "$WAKES" crowd 4 60
crowd="thread_name = 'crowd'"
is "threads have the names that the kernel knows" "$(ask crowd.ifg "SELECT count(DISTINCT thread) FROM thread_state WHERE $crowd")" 4
running=$(ask crowd.ifg "SELECT sum(dur_ns) / 1000000 FROM thread_state WHERE $crowd AND state = 'running'")
runnable=$(ask crowd.ifg "SELECT sum(dur_ns) / 1000000 FROM thread_state WHERE $crowd AND state = 'runnable'")
note "crowd: $running ms running, $runnable ms runnable"
# Each of four waits for the other three, except at the ends.
ok "threads that share a CPU wait for it longer than they run" test "$runnable" -gt "$running"
ok "and run as long as they say" test "$running" -ge 200
"$INFEROGRAM" stats crowd.ifg --by thread >table 2>&1
ok "stats --by thread shows it" grep -qE '^crowd \([0-9]+\) ' table
"$INFEROGRAM" stats crowd.ifg --by thread --thread crowd --json >stats.json
is "and for scripts" "$(python3 -c '
import json
d = json.load(open("stats.json"))
print(len(d["thread_states"]), all(t["runnable_ns"] > t["running_ns"] / 2 for t in d["thread_states"]))')" "4 True"

is "no samples were taken" "$(ask crowd.ifg 'SELECT count(*) FROM sample')" 0
matches "which is said" "$(instrument crowd.ifg samples)" "^off "
"$INFEROGRAM" record -q --no-sample -f -o none.ifg -- "$WAKES" pair 10 >/dev/null
is "--no-sample alone records no switches" "$(ask none.ifg 'SELECT count(*) FROM thread_state')" 0

# A user without rights: switches all the same, and why there is no more.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$T"
    mkdir -m 777 other
    setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" record --no-sample --sched -f -o other/own.ifg -- "$WAKES" pair 300 >/dev/null 2>said
    is "an ordinary user: the program's own status" "$?" 0
    paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
    if [ "$paranoid" -le 2 ] && [ "$paranoid" -ge 0 ]; then
        ok "an ordinary user: switches" test "$(ask other/own.ifg 'SELECT count(*) FROM thread_state')" -gt 100
        is "an ordinary user: no wakers" "$(ask other/own.ifg "SELECT count(*) FROM thread_state WHERE detail LIKE 'woken%'")" 0
        why=$(instrument other/own.ifg wakers)
        note "$why"
        matches "an ordinary user: which is said" "$why" '^(unavailable|not available) '
        contains "an ordinary user: at once" "$(cat said)" "wakeups were not recorded: "
        matches "an ordinary user: with what it takes" "$why" 'record with sudo'
        "$INFEROGRAM" stats other/own.ifg --by thread >table
        ok "an ordinary user: and in the statistics" grep -q 'Wakeups were not recorded' table
        is "an ordinary user: names" "$(ask other/own.ifg "SELECT count(DISTINCT thread) FROM thread_state WHERE thread_name = 'answerer'")" 1
    else
        skip "an ordinary user" "kernel.perf_event_paranoid is $paranoid"
    fi
fi

case $can in
on*) ;;
*)
    skip "wakers" "$can"
    done_testing
    ;;
esac

# Two threads that wake each other.
# Those of all threads of the machine come through the same rings, which a recorder without a CPU does not empty: then again.
for _ in 1 2 3 4 5; do
    ok "a pair" "$INFEROGRAM" record -q --no-sample --sched -f -o pair.ifg -- "$WAKES" pair 1000
    [ "$(ask pair.ifg "SELECT value FROM fact WHERE key = 'samples.wakes_lost'")" != 0 ] || break
done
read -r _ pid _ main _ answerer <"$T/stdout"
note "pid $pid, main $main, answerer $answerer"
woken="state = 'runnable' AND detail LIKE 'woken%'"
all=$(ask pair.ifg "SELECT count(*) FROM thread_state WHERE $woken AND thread IN ($main, $answerer)")
known=$(ask pair.ifg "SELECT count(*) FROM thread_state WHERE $woken AND (thread = $answerer AND waker = $main OR thread = $main AND waker = $answerer)")
note "woken $all times, $known of these by the other one"
# Who comes in at once when woken takes the turn without a sleep of the other: one wakeup a round is certain.
ok "one woke the other in every round" test "$all" -ge 950
ok "by the other, almost always" test $((known * 100)) -ge $((all * 95))
is "wakers have names" "$(ask pair.ifg "SELECT group_concat(DISTINCT waker_name IN ('wakes', 'answerer')) FROM thread_state
    WHERE waker IN ($main, $answerer)")" 1
is "no wakeup comes after its thread runs" "$(ask pair.ifg "SELECT count(*) FROM thread_state a JOIN thread_state b ON b.id = a.id + 1
    AND b.thread = a.thread WHERE a.detail LIKE 'woken%' AND b.state <> 'running'")" 0
"$INFEROGRAM" stats pair.ifg --by thread >table
ok "stats --by thread names the waker" grep -qE "^(answerer|wakes) \([0-9]+\) .* (wakes \($main\)|answerer \($answerer\)) [0-9]+ %" table
is "nothing was lost" "$(ask pair.ifg "SELECT value FROM fact WHERE key = 'samples.wakes_lost'")" 0

ok "with samples, by default" env -u IFG_RECORD_OPTIONS "$INFEROGRAM" record -q -f -o sampled.ifg -- "$WAKES" pair 1000
note "of all: $(ask sampled.ifg "SELECT group_concat(key || '=' || value) FROM fact WHERE key LIKE 'samples.%s' OR key LIKE 'samples.%lost'")"
matches "with samples, by default: wakers" "$(instrument sampled.ifg wakers)" "^on "
ok "with samples, by default: they are there" test "$(ask sampled.ifg "SELECT count(*) FROM thread_state WHERE $woken")" -gt 50

# Waits that nothing interrupts.
ok "disk waits" "$INFEROGRAM" record -q --no-sample --sched -f -o disk.ifg -- "$WAKES" disk 20
read -r _ pid _ main _ <"$T/stdout"
disk=$(ask disk.ifg "SELECT count(*) FROM thread_state WHERE thread = $main AND detail = 'uninterruptible'")
ok "disk waits are told apart ($disk of 20, and perhaps a real one)" test "$disk" -ge 15
is "and are blocked" "$(ask disk.ifg "SELECT DISTINCT state FROM thread_state WHERE detail = 'uninterruptible'")" blocked

# A running program: threads that were there before us, woken by a timer. Linux 6.18 for one tells perf nothing of what
# happens in the idle task of any CPU but the first: such a wakeup is known by the thread that runs again, and said to
# be untold. On a busy CPU the timer interrupts somebody else, and is told.
timer() { # NAME CPU
    rm -f hold ready
    mkfifo hold
    taskset -c "$2" "$WAKES" wait <hold >ready &
    target=$!
    exec 9>hold
    until_true 60 grep -q other ready
    read -r _ _ _ _ _ waiter <ready
    ok "$1" "$INFEROGRAM" record -q --no-sample --sched --duration 1 -f -o attached.ifg --pid "$target"
    exec 9>&-
    wait "$target"
    is "$1: the program ends as ever" "$?" 7
    of_waiter="FROM thread_state WHERE thread = $waiter AND thread_name = 'waiter'"
    told=$(ask attached.ifg "SELECT count(*) $of_waiter AND detail = 'woken by an interrupt'")
    untold=$(ask attached.ifg "SELECT count(*) $of_waiter AND detail = 'wakeup not reported'")
    slept=$(ask attached.ifg "SELECT count(*) $of_waiter AND state = 'blocked'")
    note "$1: slept $slept times; the timer was told $told times, $untold times not"
    ok "$1: it slept" test "$slept" -gt 2
    # Two pieces may be cut by the ends of the recording, and one may be of somebody else.
    ok "$1: every wakeup is known or known to be missing" test $((told + untold + 3)) -ge "$slept"
    "$INFEROGRAM" stats attached.ifg --by thread >table
    if [ "$untold" -gt 0 ]; then
        ok "$1: the statistics say what was not reported" grep -q "$untold of $((told + untold)) wakeups were not reported" table
    fi
}
timer "attached, an idle CPU" "$(($(nproc --all) - 1))"
yes >/dev/null &
busy=$!
taskset -cp 0 "$busy" >/dev/null
timer "attached, a busy CPU" 0
kill "$busy"
ok "a timer on a busy CPU is told" test "$told" -gt 2

# Inside a PID namespace threads have other numbers than the scheduler tells.
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
    unshare -pf --mount-proc "$INFEROGRAM" record -q --no-sample --sched -f -o inside.ifg -- "$WAKES" pair 100 >/dev/null
    is "in a PID namespace: the program's own status" "$?" 0
    contains "in a PID namespace: why not" "$(instrument inside.ifg wakers)" "PID namespace"
    ok "in a PID namespace: switches" test "$(ask inside.ifg 'SELECT count(*) FROM thread_state')" -gt 20
else
    skip "in a PID namespace" "namespaces: none can be made here"
fi

# The right alone, without root: CAP_PERFMON, and tracefs that may be read. Where nobody has it mounted, its modes are ours.
if [ "$(id -u)" = 0 ] && [ ! -d /sys/kernel/tracing/events ] && unshare -m mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null &&
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps +perfmon --ambient-caps +perfmon true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell's own
    unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing && mount -o remount,gid=65534,mode=750 nodev /sys/kernel/tracing
        setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps +perfmon --ambient-caps +perfmon "$@"; status=$?
        mount -o remount,gid=0,mode=700 nodev /sys/kernel/tracing; exit $status' sh \
        "$INFEROGRAM" record -q --no-sample --sched -f -o other/right.ifg -- "$WAKES" pair 300 >/dev/null
    is "CAP_PERFMON: the program's own status" "$?" 0
    why=$(instrument other/right.ifg wakers)
    case $why in
    on*) pass "CAP_PERFMON and a readable tracefs are enough" ;;
    *mlock*) skip "CAP_PERFMON and a readable tracefs" "$why" ;;
    *) fail "CAP_PERFMON and a readable tracefs are enough" "$why" ;;
    esac
else
    skip "CAP_PERFMON and a readable tracefs" "only root can give it, where tracefs is not mounted"
fi
done_testing
