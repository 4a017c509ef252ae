#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs in unusual surroundings: without descriptors, without system calls, with other settings. They run
# as if we were not there, and are recorded if that is possible at all.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"
world=$PROGRAMS/client_world

# ---- descriptors

record "$world" close
is "closes all descriptors first" "$status $output" "0 10"
counts "closes all descriptors first: recorded" zones 10 processes 1
record "$world" close-between
counts "closes them between zones: recorded" zones 20 processes 1 dropped 0

for limit in 64 4; do
    if sanitized && [ "$limit" -lt 64 ]; then
        skip "ulimit -n $limit" "the sanitizer needs descriptors itself"
        continue
    fi
    # shellcheck disable=SC3045 # ulimit -n: every shell of today has it
    record sh -c "ulimit -n $limit; exec '$world' plain"
    is "ulimit -n $limit: the program runs" "$status $output" "0 10"
    counts "ulimit -n $limit: recorded" zones 10
done

# A program that is attached to: twice, and with its descriptors closed.
attach() { # MODE RECORDINGS
    spawn "$world" "$1" "$2" >"$T/ready"
    # shellcheck disable=SC2154 # set by spawn
    pid=$spawned
    tries=0
    until grep -q ready "$T/ready" || [ "$tries" -ge 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
attach_record() { # ZONES: attaches to $pid until there are so many, or it cannot be
    rm -f "$trace"
    spawn "$INFEROGRAM" record --no-resources -q -o "$trace" --pid "$pid" >"$T/output" 2>"$T/record.err"
    recorder=$spawned
    tries=0
    until [ "$("$INFEROGRAM" query "$trace" --csv 'SELECT count(*) FROM slice WHERE NOT unfinished' 2>/dev/null | tail -n 1 | tr -d '\r')" = "$1" ] ||
        ! tap_alive "$recorder" || [ "$tries" -ge 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    kill -INT "$recorder" 2>/dev/null
    status=0
    wait "$recorder" || status=$?
    "$PROGRAMS/dump_trace" --totals "$trace" >"$T/totals" 2>&1
}
attach attached 2
attach_record 11
is "attach: exit status" "$status" 0
counts "attach: recorded from then on" zones 11 processes 1 dropped 0
is "attach: a zone that never ends is counted" "$(lost 'came twice')" 1
attach_record 10
is "attach again: exit status" "$status" 0
counts "attach again: the names are still known, nothing old comes again" zones 10 unnamed 0 dropped 0
is "attach again: nor old losses" "$(lost 'came twice')" 0
wait "$pid"
is "attach: the program went on to its end" "$?" 0

# Root of another user namespace may list them, but not follow them.
follows_mappings() {
    for mapping in "/proc/$1/map_files/"*; do
        if head -c 0 "$mapping" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}
attach attached-closed 1
attach_record 11
if [ "$status" -eq 0 ]; then
    counts "descriptors closed, attached through the mapping" zones 11 processes 1 dropped 0
    wait "$pid"
elif [ "$(id -u)" -eq 0 ]; then
    if follows_mappings "$pid"; then
        fail "descriptors closed: root attaches" "$(cat "$T/record.err")"
    else
        skip "descriptors closed: root attaches" "map_files cannot be followed here"
    fi
    tap_end_process "$pid"
else
    contains "descriptors closed: the reason is told" "$(cat "$T/record.err")" "descriptor"
    tap_end_process "$pid"
fi

# ---- system calls refused

for call in memfd madvise; do
    if sanitized; then
        skip "$call refused" "the sanitizer needs it itself"
        continue
    elif [ -n "${IFG_EMULATED:-}" ]; then
        skip "$call refused" "qemu: it refuses seccomp filters"
        continue
    fi
    exits "$call refused, not recorded" 0 "$world" refuse "$call" "$world" plain
    is "$call refused: the program runs" "$(cat "$T/stdout")" 10
    record "$world" refuse "$call" "$world" plain
    is "$call refused, under record: the program runs" "$status $output" "0 10"
done

# ---- settings

is "IFG_DEBUG says what happens, on stderr" \
    "$(IFG_DEBUG=1 "$world" plain 2>&1 >/dev/null | grep -c '^inferogram: pid [0-9]* is recordable (memfd)$')" 1
is "IFG_DEBUG=0 is off" "$(IFG_DEBUG=0 "$world" plain 2>&1)" 10
record env IFG_OFF=1 "$world" recording
is "IFG_OFF under record: runs, not recorded" "$status $output $(total zones)" "0 idle 10 0"
record env IFG_OFF=0 "$world" recording
is "IFG_OFF=0 is on" "$status $output $(total zones)" "0 recording 10 10"
record env IFG_SESSION=garbage "$world" plain
is "a session that is none: the program runs" "$status $output" "0 10"
for session in '1:' '0::/tmp' '99999999999::/tmp' '1:L:relative' "1::/$(printf '%0300d' 0)" \
    '4194303::/dev/shm'; do
    is "session '$(printf %.20s "$session")' is harmless" "$(IFG_SESSION=$session "$world" recording)" \
        "idle 10"
done
is "no file was left behind" "$(find /dev/shm -maxdepth 1 -name '4194303*' -o -maxdepth 1 -name '[0-9]*-*' \
    -newer "$T" 2>/dev/null | wc -l | tr -d ' ')" 0

record env IFG_CLOCK=monotonic "$world" deep 100
counts "IFG_CLOCK=monotonic" zones 100 bad 0 dropped 0
dump
is "IFG_CLOCK=monotonic: the trace says so" "$(lines '^process .* clock=1 ')" 1

# Longer than 2^32 ticks of a nanosecond each.
record env IFG_CLOCK=monotonic "$world" long 4400
counts "a zone of more than 2^32 ticks" zones 1 bad 0 dropped 0
ok "info --json" "$INFEROGRAM" info --json "$trace"
total_ns=$(sed -n 's/.*"name":"long"[^}]*"total_ns":\([0-9]*\).*/\1/p' "$T/stdout")
if [ "${total_ns:-0}" -gt 4300000000 ]; then
    pass "longer than 32 bits can say"
else
    fail "longer than 32 bits can say" "total_ns '$total_ns'"
fi

# ---- much

record "$world" deep 10000
counts "10,000 nested zones" zones 10000 dropped 0 bad 0 open 0
dump
is "10,000 nested zones: one has no parent" "$(lines '^zone .*name=deep in=-$')" 1

record "$world" stopped 5000000
is "recorder stopped: exit status" "$status" 0
counts "recorder stopped: recorded + dropped = emitted" emitted "${output% *}"
sound "recorder stopped"
grown=${output#* }
if [ "${grown:-999999}" -lt 65536 ]; then
    pass "recorder stopped: the program grows by less than 64 MiB"
else
    fail "recorder stopped: the program grows by less than 64 MiB" "grew by $grown KiB"
fi
done_testing
