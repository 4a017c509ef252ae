#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that take turns.
. "$TAP_SH"

run() { "$INFEROGRAM" compare --run --pairs 8 --pairs-max 8 "$@"; }

exits "a command that takes longer" 1 run --threshold 50 -- sleep 0.02 --- sleep 0.5
matches "REGRESSED" "$(cat "$T/stdout")" '^REGRESSED  B: sleep 0.5: '
matches "the plan was told before" "$(cat "$T/stderr")" \
    'plan: 8 runs of each of 2, interleaved.*; at most [0-9]+ (s|min) .--max-time.'
contains "the unit is named" "$(cat "$T/stdout")" "8 pairs of interleaved processes (ABBA), one value each"
exits "a third one" 1 run --threshold 50 -q -- sleep 0.02 --- sleep 0.5 --- sleep 0.5
is "has a line of its own" "$(wc -l <"$T/stdout" | tr -d ' ')" 2

# Numbers that commands print are exact, so every verdict can be asked for.
cat >"$T/print" <<'SCRIPT'
#!/bin/sh
echo "some talk { not JSON"
printf '{"first": 1, "deep": {"x": [1, 2], "ms": %s}}\n' "$1"
SCRIPT
chmod +x "$T/print"
json() { run --measure json:deep.ms -q -- "$T/print" "$1" --- "$T/print" "$2"; }
exits "5 % more" 1 json 100 105
matches "REGRESSED" "$(cat "$T/stdout")" '^REGRESSED .*: \+5.0 % \[\+5.0, \+5.0\]'
exits "5 % less" 0 json 100 95
matches "IMPROVED" "$(cat "$T/stdout")" '^IMPROVED '
exits "1 % more" 0 json 100 101
matches "SAME" "$(cat "$T/stdout")" '^SAME '
exits "a key that is not there" 2 run --measure json:deep.s -- "$T/print" 1 --- "$T/print" 1
contains "says which command and key" "$(cat "$T/stderr")" "printed no JSON document with a number 'deep.s'"
exits "a key within a list" 2 run --measure json:deep.x -- "$T/print" 1 --- "$T/print" 1
exits "a number that cannot be compared" 2 json 100 -1

# Who changes its mind from run to run cannot be judged.
cat >"$T/dice" <<'SCRIPT'
#!/bin/sh
count=$(($(cat "$1") + 1))
echo "$count" >"$1"
echo "{\"ms\": $((100 + 50 * (count / $2 % 2)))}"
SCRIPT
chmod +x "$T/dice"
echo 0 >"$T/one"
echo 0 >"$T/two"
exits "UNSURE" 3 run --measure json:ms -- "$T/dice" "$T/one" 1 --- "$T/dice" "$T/two" 2
matches "is said" "$(cat "$T/stdout")" '^UNSURE '

# shellcheck disable=SC2016 # for the inner shells
exits "CPU time" 1 run --measure cpu --threshold 50 -q -- \
    sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' --- \
    sh -c 'i=0; while [ $i -lt 80000 ]; do i=$((i + 1)); done'

# ---- before each run, and where the result goes ----
exits "with a preparation" 0 run --warmup 2 --prepare "echo prepared >>'$T/prepared'" --measure json:deep.ms --markdown -o "$T/table.md" -- \
    "$T/print" 100 --- "$T/print" 100
is "each run had one: two warm-ups and eight pairs of both" "$(wc -l <"$T/prepared" | tr -d ' ')" 20
is "nothing on stdout" "$(cat "$T/stdout")" ""
matches "the table is in the file" "$(cat "$T/table.md")" '^\| B: .* \| .*100.* \| .* \| SAME \|$'
contains "with its head" "$(cat "$T/table.md")" "|---|"
exits "a preparation that fails" 4 run --prepare 'echo no disk >&2; exit 3' -- true --- true
contains "is named" "$(cat "$T/stderr")" "'--prepare' failed with exit status 3; its last line on stderr: no disk"
exits "two forms" 2 run --json --markdown -- true --- true
exits "a preparation of models" 2 "$INFEROGRAM" compare --prepare true a.onnx b.onnx
contains "is refused" "$(cat "$T/stderr")" "--prepare and --warmup are for commands (--run)"

# ---- what goes wrong ----
exits "a command that fails" 4 run -- true --- sh -c 'echo first >&2; echo it broke >&2; exit 7'
contains "is named, with its last words" "$(cat "$T/stderr")" "failed with exit status 7; its last line on stderr: it broke"
# shellcheck disable=SC2016 # for the inner shell
exits "a command that is killed" 4 run -- sh -c 'kill -9 $$' --- true
contains "says the signal" "$(cat "$T/stderr")" "was killed by signal 9"
exits "a command that is not there" 2 run -- "$T/nothing" --- true
exits "one command" 2 run -- true
exits "an empty command" 2 run -- true --- ---  true
exits "no commands" 2 run
exits "--vary" 2 run --vary a=1,2 -- true --- true
exits "stdin is empty" 0 run --threshold 10000 -q -- sh -c 'cat; sleep 0.01' --- sh -c 'cat; sleep 0.01'

# ---- Ctrl-C ends the command too ----
# shellcheck disable=SC2016 # for the inner shell
"$INFEROGRAM" compare --run -- true --- sh -c 'echo $$ >"$1"; sleep 60' sh "$T/pid" >"$T/stopped" 2>"$T/stderr" &
tool=$!
tap_pids="$tap_pids $tool"
tries=0
while [ ! -s "$T/pid" ] && [ "$tries" -lt 1200 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -INT "$tool"
wait "$tool"
is "interrupted: exit status 3" "$?" 3
ok "it had begun" test -s "$T/pid"
if tap_alive "$(cat "$T/pid")"; then fail "the command has ended"; else pass "the command has ended"; fi

done_testing
