#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test harnesses themselves: a failure must look like one.
. "$TAP_SH"

unset TAP_TIMEOUT_SCALE IFG_REQUIRE IFG_EMULATED
exits "a program with failures ends with 1" 1 "$TAP_EXAMPLE"
report=$(cat "$T/stdout")
lacks "the program's own stdout is kept out" "$report" "ok 99"
matches "plan" "$report" '^1\.\.7$'
matches "a good case" "$report" '^ok 1 - passes$'
matches "a bad case" "$report" '^not ok 2 - shows_both_values$'
matches "integer: got" "$report" '^#  +got +2$'
matches "integer: expected" "$report" '^#  +expected 3$'
matches "string: got" "$report" '^#  +got +"got this"$'
matches "string: expected" "$report" '^#  +expected "wanted that"$'
matches "string: null" "$report" '^#  +got +"\(null\)"$'
matches "contains" "$report" '^#  +lacks +"needle"$'
matches "bytes" "$report" 'byte 2 of 3$'
matches "REQUIRE fails" "$report" '^not ok 3 - require_ends_the_case$'
lacks "REQUIRE ends the case" "$report" "not reached"
matches "a crash names its signal or its sanitizer's status" "$report" \
    '^# (killed by SIGSEGV|killed by SIGABRT|ended with exit status [1-9][0-9]*)$'
matches "a crash shows the note" "$report" '^# while: about to crash$'
matches "a crash fails" "$report" '^not ok 4 - crashes$'
matches "a hang fails" "$report" '^not ok 5 - hangs$'
contains "a hang says so" "$report" "did not end within 1 s"
matches "an early exit fails" "$report" '^not ok 6 - exits_early$'
matches "a skip says why" "$report" '^ok 7 - skips # SKIP unicorns: no unicorn here$'

# shellcheck disable=SC2043 # one at a time
for required in unicorns bears,unicorns unicorns,bears; do
    exits "what is required is no skip: $required" 1 env IFG_REQUIRE=$required "$TAP_EXAMPLE" -k skips
    matches "and is told" "$(cat "$T/stdout")" '^# IFG_REQUIRE has it, and yet: unicorns: no unicorn here$'
done
for required in '' unicorn unicorns2 'no unicorn here'; do
    exits "other things are required: $required" 0 env IFG_REQUIRE="$required" "$TAP_EXAMPLE" -k skips
done
exits "-k chooses cases" 0 "$TAP_EXAMPLE" -k pass
matches "-k plans for them only" "$(cat "$T/stdout")" '^1\.\.1$'
exits "-n runs in the process itself" 0 "$TAP_EXAMPLE" -n -k pass
exits "unknown option" 2 "$TAP_EXAMPLE" -x

# What an emulator cannot do.
printf '# a list\ntap_example passes it has no wings\nother_example * never\n' >"$T/emulated"
exits "an emulated case is skipped" 0 env IFG_EMULATED="$T/emulated" "$TAP_EXAMPLE" -k pass
matches "with the reason" "$(cat "$T/stdout")" '^ok 1 - passes # SKIP qemu: it has no wings$'
printf 'tap_example * never\n' >"$T/emulated"
exits "all of a program" 0 env IFG_EMULATED="$T/emulated" "$TAP_EXAMPLE"
lacks "nothing was run" "$(cat "$T/stdout")" "not ok"
exits "a list that is not there is no permission" 99 env IFG_EMULATED="$T/missing" "$TAP_EXAMPLE" -k pass

# The shell side, in a script of its own.
cat >"$T/inner.sh" <<'EOF'
. "$TAP_SH"
ok "true" true
ok "false" false
is "differ" a b
contains "lack" abc x
matches "no match" abc '^b'
skip "later" "unicorns: not today"
echo "$T" >"$OUTER/inner-dir"
spawn sleep 600
echo "$spawned" >"$OUTER/inner-pid"
done_testing
EOF
exits "a script with failures ends with 1" 1 env OUTER="$T" sh "$T/inner.sh"
report=$(cat "$T/stdout")
matches "script: plan" "$report" '^1\.\.6$'
matches "script: good" "$report" '^ok 1 - true$'
is "script: four failures" "$(grep -c '^not ok' "$T/stdout")" 4
matches "script: skip" "$report" '^ok 6 - later # SKIP unicorns: not today$'
ok "script: its directory is gone" test ! -e "$(cat "$T/inner-dir")"
ok "script: its process is gone" sh -c "! kill -0 $(cat "$T/inner-pid") 2>/dev/null"

# A number in the list that is somebody else's by now: of another session, and not a child of the script.
spawn sleep 600
# shellcheck disable=SC2016 # for the inner shell
echo '. "$TAP_SH"; tap_pids=$STRANGER; ok "true" true; done_testing' >"$T/stranger.sh"
# shellcheck disable=SC2154 # spawn sets it
exits "script: with the number of a stranger" 0 setsid -w env STRANGER="$spawned" sh "$T/stranger.sh"
ok "script: the stranger lives" tap_alive "$spawned"

env OUTER="$T" IFG_REQUIRE=bears,unicorns sh "$T/inner.sh" >"$T/required"
matches "script: what is required is no skip" "$(cat "$T/required")" '^not ok 6 - later$'
# shellcheck disable=SC2016 # for the inner shell
echo '. "$TAP_SH"; skip_all "unicorns: none"' >"$T/all.sh"
exits "script: all of it is skipped" 0 env IFG_REQUIRE=bears sh "$T/all.sh"
exits "script: unless it is required" 1 env IFG_REQUIRE=unicorns sh "$T/all.sh"
matches "script: and is told" "$(cat "$T/stdout")" '^# IFG_REQUIRE has it, and yet: unicorns: none$'

printf 'emu * never\nemus * nor these\n' >"$T/emulated"
# shellcheck disable=SC2016 # for the inner shell
echo '. "$TAP_SH"; fail one; done_testing' | tee "$T/emu.sh" >"$T/em.sh"
exits "script: what an emulator cannot do" 0 env IFG_EMULATED="$T/emulated" sh "$T/emu.sh"
is "script: is skipped" "$(cat "$T/stdout")" "1..0 # SKIP qemu: never"
exits "script: and no other" 1 env IFG_EMULATED="$T/emulated" sh "$T/em.sh"
exits "script: nor without a list" 99 env IFG_EMULATED="$T/missing" sh "$T/em.sh"

# shellcheck disable=SC2016 # for the inner shell
echo '. "$TAP_SH"; ok one true; exit 0' >"$T/early.sh"
exits "a script that stops early" 0 sh "$T/early.sh"
contains "is caught" "$(cat "$T/stdout")" "Bail out!"

done_testing
