#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests share that attach to programs with ONNX Runtime. After hooks_lib.sh and record_lib.sh.
#
#   need_probes              skips everything unless this user can set probes here
#   steady LOG COMMAND...    starts a program that keeps an account of its runs in LOG and waits until it
#                            is ready; its id is in $steady
#   attach OPTIONS...        records it into $trace; stderr in $T/stderr
#   attach_until N OPTIONS...  the same until there are so many inferences: how many there are in a time depends on the
#                            machine
#   recorded_events [MODEL]  inferences in $trace, of this model
#   until_recorded N [MODEL] waits until there are so many
#   settle PID               ends it, so that its account is complete
#   compare LOG [MODEL]...   "recorded R of P, N inside" for each process: inferences in $trace, runs in the
#                            account between the first and the last of them, and how many of those lie
#                            around their inference. With names: also for each model, by its number
# shellcheck disable=SC2034,SC2154 # used by the tests, set by others

need_probes() {
    [ "$(id -u)" -eq 0 ] || skip_all "root: attaching needs root here"
    "$INFEROGRAM" record --next --name nobody-at-all --timeout 10ms 2>"$T/probes" && return 0
    case $(cat "$T/probes") in
    *"no process created"*) ;;
    *) skip_all "probes: $(tail -n 1 "$T/probes")" ;;
    esac
}

steady() {
    steady_log=$1
    shift
    : >"$T/steady.out"
    spawn "$@" >"$T/steady.out" 2>"$T/steady.err"
    if until_true 60 grep -q ready "$T/steady.out"; then
        steady=$(sed -n 's/^ready //p' "$T/steady.out")
    else
        fail "the program starts" "$(tail -n 3 "$T/steady.err")"
        steady=$spawned
    fi
}

attach() { "$INFEROGRAM" record -f -o "$trace" "$@" 2>"$T/stderr"; }

attach_is_over() { has_recorded "$attach_wanted" || not_alive "$recorder"; }
attach_until() {
    attach_wanted=$1
    shift
    rm -f "$trace"
    recorder -o "$trace" "$@"
    until_true 60 attach_is_over
    kill -INT "$recorder"
    ended "$recorder"
    cp "$T/recorder.err" "$T/stderr"
    return "$status"
}

# shellcheck disable=SC2016 # it does, in double quotes
recorded_events() { rows "SELECT count(*) FROM ml_event WHERE category = 'inference'${1:+ AND model = '$1'}"; }
has_recorded() { test "$(recorded_events "${2:-}")" -ge "$1"; }
until_recorded() { until_true 60 has_recorded "$@"; }

settle() {
    kill "$1" 2>/dev/null
    until_true 60 not_alive "$1"
}

compare() {
    compare_log=$1
    shift
    rows "SELECT process, model, start_ns + begin_monotonic_ns, start_ns + begin_monotonic_ns + ml_event.dur_ns
          FROM ml_event, trace_info WHERE category = 'inference'" >"$T/recorded"
    python3 - "$T/recorded" "$compare_log" "$@" <<'EOP'
import collections, sys
recorded, own = collections.defaultdict(list), collections.defaultdict(list)
names = sys.argv[3:]
for line in open(sys.argv[1]):
    pid, model, start, end = line.split(',')
    recorded[int(pid), model if names else ''].append((int(start), int(end)))
for line in open(sys.argv[2]):
    pid, index, start, end = map(int, line.split())
    own[pid, names[index] if names else ''].append((start, end))
result = []
for key in sorted(recorded):
    first, last = min(s for s, e in recorded[key]), max(e for s, e in recorded[key])
    inside = sorted((s, e) for s, e in own[key] if e >= first and s <= last)
    fits = sum(s <= a and b <= e for (a, b), (s, e) in zip(sorted(recorded[key]), inside))
    result.append(f'recorded {len(recorded[key])} of {len(inside)}, {fits} inside')
print('; '.join(result))
EOP
}

# Whether all is as "recorded N of N, N inside", of every process (and model, if their names are given).
all_there() { # NAME LOG LEAST [MODEL]...
    there_name=$1
    there_log=$2
    there_least=$3
    shift 3
    there=$(compare "$there_log" "$@")
    if printf '%s\n' "$there" | tr ';' '\n' | grep -Evq '^ ?recorded ([0-9]+) of \1, \1 inside$'; then
        fail "$there_name: every run between the first and the last, where the program had it" "$there"
    else
        pass "$there_name: every run between the first and the last, where the program had it"
    fi
    number=$(printf '%s' "$there" | sed -n 's/^recorded \([0-9]*\) .*/\1/p')
    if [ "${number:-0}" -ge "$there_least" ]; then
        pass "$there_name: $there_least or more"
    else
        fail "$there_name: $there_least or more" "$there"
    fi
}
