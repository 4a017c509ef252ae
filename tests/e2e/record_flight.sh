#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A flight recorder keeps the last seconds, writes them when something happens, and never more than
# its memory.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1

await() { until_true 60 "$@" || fail "awaited: $*"; }
query() { "$INFEROGRAM" query "$1" "$2" --csv | tail -n 1 | tr -d "\r"; }
said() { grep -q "$1" said; }
# begin OPTIONS...: a flight recorder of the service; $recorder and $app
begin() {
    rate=$1
    shift
    : >talk.txt
    : >said
    "$INFEROGRAM" record --no-sample -o run.ifg "$@" -- "$FLIGHT_EVENTS" "$rate" >talk.txt 2>said &
    recorder=$!
    tap_pids="$tap_pids $recorder"
    await grep -q ready talk.txt
    app=$(sed -n 's/^ready //p' talk.txt)
}
end() {
    kill "$app"
    wait "$recorder"
    ended=$?
}
# has FILE WORDS: what info says of it
has() { contains "$1: $2" "$("$INFEROGRAM" info "$1")" "$2"; }
opens() { ok "$1 opens, whole" sh -c "\"$INFEROGRAM\" info --json '$1' | grep -q '\"finished\":true'"; }

# ---- what cannot be meant ----

usage() {
    exits "$1" 2 "$INFEROGRAM" record "$@" -- true
    contains "$1: says why" "$(cat "$T/stderr")" "$expected"
}
expected="a time (30s), a size of memory (200M), or both"
for bad in "" 30 x s 30s,30s 200M,1s,2s -5s; do usage --flight-recorder="$bad"; done
expected="at least 1M" usage --flight-recorder 10k
expected="go with --flight-recorder" usage --dump-on-signal
expected="'latncy' is no metric" usage --flight-recorder 30s --dump-when 'inference.latncy>1ms'
contains "and where" "$(cat "$T/stderr")" "at position 11"
expected="--memory does not go with" usage --flight-recorder 30s --memory
expected="--max-size does not go with" usage --flight-recorder 30s --max-size 10M
expected="no file that a page could follow" usage --flight-recorder 30s --live
exits "nobody watches it" 1 "$INFEROGRAM" ctl $$ snapshot
contains "says what to do" "$(cat "$T/stderr")" "record --flight-recorder 30s --pid $$"
touch there.ifg
exits "a file that is there" 125 "$INFEROGRAM" record --flight-recorder 30s -o there.ifg -- true

# ---- a slow inference, twice ----

begin 2000 --flight-recorder 2s --dump-when 'o*r/inference.latency>150ms' --dump-after 1s \
    --dump-interval 0
old() { # what is kept has begun to go
    file=$("$INFEROGRAM" ctl "$app" snapshot) && "$INFEROGRAM" info "$file" | grep -q "are not kept"
}
await old
first=$(find . -name 'run-*.ifg' | wc -l)
kill -USR1 "$app"
await said "ocr took"
slow=$(sed -n 's/^.*wrote \(run-[0-9]*.ifg\).*ocr took.*/\1/p' said | head -n 1)
kill -USR1 "$app"
twice() { [ "$(grep -c "ocr took" said)" -ge 2 ]; }
await twice
end
is "the program's status is the recorder's" "$ended" 0
# Another one is slow if the machine stands still meanwhile.
is "two slow ones or more, a file each, and one at the end" "$(find . -name 'run*.ifg' | wc -l)" $((first + $(grep -c "ocr took" said) + 1))
opens "$slow"
has "$slow" "written by a flight recorder that keeps the last 2 s, at most 256 MB"
has "$slow" "trigger: o*r/inference.latency>150ms: ocr took"
has "$slow" "of the recording are not kept"
contains "report says so" "$("$INFEROGRAM" report "$slow")" "are not kept"
"$INFEROGRAM" stats "$slow" >/dev/null 2>stderr
contains "stats says so" "$(cat stderr)" "are in no figure"
trigger=$("$INFEROGRAM" info --json "$slow" | sed -n 's/.*"trigger_ns":\([0-9]*\).*/\1/p')
begin_ns=$("$INFEROGRAM" info --json "$slow" | sed -n 's/.*"begin_ns":\([0-9]*\).*/\1/p')
at=$((trigger - begin_ns))
inferences="FROM ml_event WHERE category = 'inference' AND"
is "the slow one ends at the trigger" \
    "$(query "$slow" "SELECT count(*) $inferences dur_ns > 150000000 AND abs(start_ns + dur_ns - $at) < 1000000")" 1
ok "there are seconds before it" test \
    "$(query "$slow" "SELECT count(*) $inferences start_ns < $at - 1000000000")" -gt 0
ok "and what came after it" test \
    "$(query "$slow" "SELECT count(*) $inferences start_ns > $at")" -gt 0
is "the trigger is marked on the timeline" \
    "$(query "$slow" "SELECT count(*) FROM message WHERE text LIKE 'trigger: o*r/%' AND abs(time_ns - $at) < 1000")" 1
contains "what was open all the time is open" "$("$INFEROGRAM" info "$slow")" "serve, on thread"
opens run.ifg
has run.ifg "trigger: the end of the program"
contains "says its cost" "$(cat said)" "% of a core and"
rm -f run*.ifg

# ---- too many ----

begin 2000 --flight-recorder 1s --dump-when 'inference.latency>150ms' --dump-after 0 --dump-interval 1h
kill -USR1 "$app"
await said "ocr took"
slow_times() { [ "$(grep -c slow talk.txt)" -ge "$1" ]; }
for times in 2 3 4; do # each is seen while the next one lasts
    kill -USR1 "$app"
    await slow_times $times
done
"$INFEROGRAM" ctl "$app" snapshot >/dev/null
end
is "one file in an hour by a rule, one by hand, one at the end" "$(find . -name 'run*.ifg' | wc -l)" 3
contains "says what was left out" "$(cat said)" "more times --dump-when came true and nothing was written: --dump-interval is 3600 s"
rm -f run*.ifg

# ---- percentiles, and too few ----

begin 2000 --flight-recorder 2s --dump-after 0 --dump-when 'inference.p50>0ns over 1s' \
    --dump-when 'inference.rate<20 over 500ms' --dump-interval 0
await said "p50>0ns over 1s: it was"
kill -STOP "$app"
await said "rate<20 over 500ms: it was"
kill "$app" # it ends when it goes on, and has no time for a new median
kill -CONT "$app"
end
is "a median that is true all the time is written once" "$(grep -c "p50>0ns over 1s: it was" said)" 1
is "there is a file for each" "$(find . -name 'run-*.ifg' | wc -l)" "$(grep -c ": it was" said)"
rm -f run*.ifg

# ---- by hand: a signal, ctl of either process ----

begin 2000 --flight-recorder 64M --dump-on-signal --dump-after 0
kill -USR2 "$recorder"
await said "(SIGUSR2)"
is "ctl of the program" "$("$INFEROGRAM" ctl "$app" snapshot)" "$PWD/run-2.ifg"
is "ctl of the recorder" "$(cd / && "$INFEROGRAM" ctl $recorder snapshot --json)" \
    "{\"schema\":1,\"pid\":$recorder,\"file\":\"$PWD/run-3.ifg\"}"
touch run-4.ifg
is "never one that is there" "$("$INFEROGRAM" ctl "$app" snapshot)" "$PWD/run-5.ifg"
for file in run-1 run-2 run-3 run-5; do opens $file.ifg; done
kill -9 "$app"
wait "$recorder"
is "killed: its status" $? 137
opens run.ifg
has run.ifg "killed by signal 9"
ok "killed: what it did is there" test "$(query run.ifg "SELECT count(*) $inferences 1")" -gt 0
rm -f run*.ifg

# ---- attached; stopped by the user ----

: >talk.txt # before it is begun: "ready" of the last one is there
"$FLIGHT_EVENTS" 2000 >talk.txt &
app=$!
tap_pids="$tap_pids $app"
await grep -q ready talk.txt
: >said
"$INFEROGRAM" record --no-sample --flight-recorder 30s --dump-after 0 -o run.ifg --pid $app 2>said &
recorder=$!
tap_pids="$tap_pids $recorder"
await said "keeping the last 30 s"
opens "$("$INFEROGRAM" ctl $app snapshot)"
kill -INT $recorder
wait $recorder
is "stopped" $? 0
opens run.ifg
has run.ifg "trigger: the end of the recording: stopped by the user"
kill $app
rm -f run*.ifg

# ---- memory ----

# Room for less than a second of it: many times that goes by between the two looks.
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$recorder/status"; }
not_kept() { # more than so many seconds
    file=$("$INFEROGRAM" ctl "$app" snapshot)
    seconds=$("$INFEROGRAM" info --json "$file" | sed -n 's/.*"not_kept_s":\([0-9]*\).*/\1/p')
    rm -f "$file"
    [ "$seconds" -ge "$1" ]
}
begin 100000 --flight-recorder 1M --no-resources --dump-after 0
await not_kept 1
before=$(rss)
await not_kept 4
after=$(rss)
# AddressSanitizer keeps what was freed.
if [ "$SANITIZE" = none ]; then
    ok "its memory does not grow: $before kB, $after kB" test "$after" -lt $((before + 2048))
    ok "and is what was given and a little" test "$after" -lt 40000
fi
end
ok "a file of a full memory is not larger than that" test "$(wc -c <run.ifg)" -lt 1400000
opens run.ifg

# ---- what is never forgotten ----

# Two kilobytes of each process that cannot be compressed much: after some hundreds of them half of the memory is gone.
cat >many.sh <<END
for i in \$(seq 1000); do "$FLIGHT_EVENTS" 1000 0.002 0 \$(head -c 9000 /dev/urandom | base64 -w0) >/dev/null; done
exit 7
END
"$INFEROGRAM" record --no-sample --no-resources --flight-recorder 1M -o many.ifg -- sh many.sh 2>said
is "its end is not the program's" "$?" 7
contains "says why it ended" "$(cat said)" "took half of the memory: give --flight-recorder more"
opens many.ifg
has many.ifg "trigger: the end of the recording: definitions took half of its memory"
ok "there are events in it" test "$(query many.ifg "SELECT count(*) $inferences 1")" -gt 0

# ---- a model in ONNX Runtime ----

. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
if [ "$SANITIZE" = none ] && have ort-node-1.30.0; then
    # shellcheck disable=SC2154 # of hooks_lib.sh
    python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$models"
    "$INFEROGRAM" record --flight-recorder 30s --dump-after 0 --dump-when 're*u/inference.count>100' -o ort.ifg -- \
        "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" --runs 2000 --pause-us 1000 >/dev/null 2>said
    contains "a rule about a model of ONNX Runtime" "$(cat said)" "wrote ort-1.ifg"
    opens ort-1.ifg
    ok "its inferences are there" test "$(query ort-1.ifg "SELECT count(*) $inferences model = 'relu'")" -gt 100
    is "and at the end all" "$(query ort.ifg "SELECT count(*) $inferences model = 'relu'")" 2000
else
    skip "a rule about a model of ONNX Runtime" "there is none that can be used here"
fi

done_testing
