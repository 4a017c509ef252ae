#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --pid --duration: it begins when all is attached, and that is said; from then on every run is there, with
# its operators; nothing is there of before or of after the duration; all who tell how long it is say the same.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.20.1
cd "$T" || exit 1
mkdir cache

now_ns() { python3 -c 'import time; print(time.monotonic_ns())'; }

# duration NAME SECONDS OPTIONS...: records $steady, which goes on; when that was said is in $said_ns.
duration() {
    length_name=$1
    length=$2
    shift 2
    : >recorder.err
    spawn env XDG_CACHE_HOME="$T/cache" "$INFEROGRAM" record -f -o "$trace" --duration "$length" --pid "$steady" "$@" \
        2>recorder.err
    until_true 60 grep -q '^inferogram: recording' recorder.err || fail "$length_name: it begins" "$(cat recorder.err)"
    said_ns=$(now_ns)
    until_true 60 not_alive "$spawned" || fail "$length_name: it ends"
    rows "SELECT printf('%.3f', dur_ns / 1e9) FROM trace_info" >length
    ok "$length_name: not longer than asked for" python3 -c \
        "import sys; n = float(open('length').read()); print(n); sys.exit(not 0 < n <= $length + 0.0005)"
    matches "$length_name: what record says" "$(cat recorder.err)" "recorded $length s: "
    is "$length_name: what info says" "$(json "$trace" "'%.3f' % d['duration_s']")" "$(cat length)"
}

# Runs that the program made between the two moments, and those of them that are in the trace (a recorder that sleeps
# for a moment says late that it has begun, never early).
all_runs() { # NAME LOG
    rows "SELECT start_ns + begin_monotonic_ns, start_ns + begin_monotonic_ns + e.dur_ns, (SELECT count(*) FROM attribute a
        WHERE a.slice = e.id AND a.key = 'ops') FROM ml_event e, trace_info WHERE category = 'inference'" >runs
    rows "SELECT begin_monotonic_ns + dur_ns FROM trace_info" >end
    python3 - runs end "$2" "$said_ns" >judged <<'EOP'
import sys
runs = sorted(tuple(map(int, line.split(','))) for line in open(sys.argv[1]))
end = int(open(sys.argv[2]).read())
said = int(sys.argv[4])
own = sorted((int(s), int(e)) for _, _, s, e in (line.split() for line in open(sys.argv[3])))
own = [(s, e) for s, e in own if s > said and e < end]
missing = sum(not any(s <= a and b <= e for a, b, _ in runs if s <= a <= e) for s, e in own)
print(f'{missing} of {len(own)} missing; without operators {sum(not o for _, _, o in runs)}')
EOP
    cat judged
}

steady duration.log "$PROGRAMS/ort_steady" duration.log 5000 "$(ort 1.20.1)" "$models/mixed.onnx"
# The library has to be asked where its functions are, which takes longer than the recording. On a busy machine a second may
# be over before we know that it has begun: then again, longer.
for length in 1.0 4.0 16.0; do
    duration "operators, of a library that is new, $length s" "$length" --ops=1
    settle "$steady"
    result=$(all_runs "operators" duration.log)
    case $result in "0 of 0 "*) ;; *) break ;; esac
    rm -rf cache/* duration.log
    steady duration.log "$PROGRAMS/ort_steady" duration.log 5000 "$(ort 1.20.1)" "$models/mixed.onnx"
done
matches "operators, of a library that is new: all runs from the beginning, with operators" "$result" \
    '^0 of [1-9][0-9]* missing; without operators 0$'
note "$result"
rm -f duration.log
steady duration.log "$PROGRAMS/ort_steady" duration.log 5000 "$(ort 1.20.1)" "$models/mixed.onnx"
for i in 1 2 3; do
    duration "again, $i" 1.0
    duration "again with operators, $i" 1.0 --ops=1
done
settle "$steady"
result=$(all_runs "again" duration.log)
for length in 4.0 16.0; do
    case $result in "0 of 0 "*) ;; *) break ;; esac
    rm -f duration.log
    steady duration.log "$PROGRAMS/ort_steady" duration.log 5000 "$(ort 1.20.1)" "$models/mixed.onnx"
    duration "again with operators, $length s" "$length" --ops=1
    settle "$steady"
    result=$(all_runs "again" duration.log)
done
matches "again: all runs from the beginning, with operators" "$result" '^0 of [1-9][0-9]* missing; without operators 0$'
note "$result"

# A program with the library in it: what it writes while the recorder is late is not recorded either. One of its zones
# is open all the time.
ticker -s 3000
for i in 1 2 3; do
    attach --duration 1 --pid "$ticker"
    matches "a program with zones, $i: what record says" "$(cat stderr)" 'recorded 1\.0 s: '
    is "a program with zones, $i: nothing is longer than that" "$(rows "SELECT max(start_ns + dur_ns) - min(start_ns) BETWEEN
        1 AND 1000500000 FROM slice WHERE name = 'tick'")" 1
done
tap_end_process "$ticker"
done_testing
