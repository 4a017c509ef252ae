#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Captures from two machines whose clocks are a day apart, and a recording of this one: what capture measured puts their
# events where they belong. The machines are namespaces, so how far apart they are is known exactly.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: namespaces need root"
cd "$T" || exit 99
unshare -m -u -p -f --mount-proc -T --monotonic 1 true 2>"$T/unshare" || skip_all "namespaces: $(head -n 1 "$T/unshare")"

# A machine with a program and an agent; its clock is so many seconds ahead. Captures the program into NAME.ifg.
machine() { # NAME SECONDS
    machine_port=$(free_port)
    : >"$1.out"
    # shellcheck disable=SC2016 # the other shell's
    spawn unshare -m -u -p -f --kill-child --mount-proc -T --monotonic "$2" sh -c '
        hostname "$1"
        "$2" -p -s 300 &
        exec "$3" agent --listen "127.0.0.1:$4"' machine "$1" "$REC_TICKER" "$INFEROGRAM" "$machine_port" >"$1.out" 2>"$1.err"
    for word in ready ":$machine_port"; do
        until_true 60 grep -q "$word" "$1.out" || fail "the machine starts" "$(cat "$1.err")"
    done
    ok "a capture from $1" "$INFEROGRAM" capture -q -a 127.0.0.1 -p "$machine_port" --name rec_ticker --no-sample -s 0.3 -o "$1.ifg"
}
# How it was found, whether an error is told, and whether it is as large as that at most.
placed() { # FILE INDEX SECONDS
    note "$1, $2: $(json "$1" "'off by %.3f ms, said to be at most %.3f ms' % ((d['merged'][$2]['shift_ns'] + $3 * 10**9) / 1e6,
        d['merged'][$2]['error_ns'] / 1e6)")" >&2
    json "$1" "[(p['method'], (p['error_ns'] or 0) > 0, abs(p['shift_ns'] + $3 * 10**9) <= (p['error_ns'] or 0)) for p in d['merged']][$2]"
}

machine board-b 86400
machine board-c 172800
"$INFEROGRAM" record -q --no-sample -o here.ifg -- "$REC_TICKER" -c 50

ok "this machine and another" "$INFEROGRAM" merge here.ifg board-b.ifg -o one.ifg
is "nothing to warn of" "$(cat "$T/stderr")" ""
is "measured, within its error" "$(placed one.ifg 1 86400)" "('measured', True, True)"
is "both tell where they were" "$(json one.ifg "[p['host'] for p in d['merged']][1]")" board-b
ok "two others" "$INFEROGRAM" merge board-b.ifg board-c.ifg -o two.ifg
is "measured, within their errors" "$(placed two.ifg 1 86400)" "('measured', True, True)"
ok "all three" "$INFEROGRAM" merge board-c.ifg here.ifg board-b.ifg -o all.ifg
is "each beside the first" "$(placed all.ifg 1 -172800) $(placed all.ifg 2 -86400)" "('measured', True, True) ('measured', True, True)"
is "the same number is not the same process" "$(json all.ifg "len(set(d['pids'])) == len(d['pids'])")" True
matches "all of it is there" "$(python3 "$SOURCE_DIR/tests/e2e/merge_compare.py" "$INFEROGRAM" all.ifg board-c.ifg here.ifg board-b.ifg)" \
    "^same, [0-9]+ rows"
contains "info tells how" "$("$INFEROGRAM" info all.ifg)" "measured by capture"
done_testing
