#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/run-tests must count every point, show skips and failures, and never report a crash as good.
. "$TAP_SH"
unset IFG_REQUIRE

mkdir "$T/project"
cat >"$T/project/meson.build" <<'EOF'
project('counting')
sh = find_program('sh')
test('good', sh, args: files('good.sh'), protocol: 'tap', suite: 'fine')
test('skips', sh, args: files('skips.sh'), protocol: 'tap', suite: 'fine')
test('plain', sh, args: files('plain.sh'), suite: 'fine')
test('bad', sh, args: files('bad.sh'), protocol: 'tap')
test('crash', sh, args: files('crash.sh'), protocol: 'tap')
test('short', sh, args: files('short.sh'), protocol: 'tap')
EOF
printf 'echo ok 1 - a\necho "ok 2 - b # SKIP no gpu"\necho 1..2\n' >"$T/project/good.sh"
printf 'echo "1..0 # SKIP no root"\n' >"$T/project/skips.sh"
printf 'exit 0\n' >"$T/project/plain.sh"
printf 'echo "# because"; echo ok 1 - quiet; echo not ok 2 - broken thing; echo 1..2; exit 1\n' \
    >"$T/project/bad.sh"
# shellcheck disable=SC2016 # for the inner shell
printf 'echo 1..1; echo ok 1 - fine; kill -SEGV $$\n' >"$T/project/crash.sh"
printf 'echo 1..3; echo ok 1 - only one\n' >"$T/project/short.sh"

if ! meson setup "$T/build" "$T/project" >"$T/setup" 2>&1; then
    fail "meson setup" "$(cat "$T/setup")"
    done_testing
fi
exits "failures give 1" 1 "$SOURCE_DIR/tools/run-tests" -C "$T/build"
report=$(cat "$T/stdout")
is "closing line" "$(tail -n 1 "$T/stdout")" "5 passed, 3 failed, 2 skipped"
contains "skipped point with reason" "$report" "b: no gpu"
contains "skipped program with reason" "$report" "no root"
matches "name of a failed point" "$report" '^  broken thing$'
contains "output of a failed test" "$report" "# because"
lacks "its good points are left out" "$report" "quiet"
matches "a crash after its points" "$report" 'Failed: .*crash'
matches "a plan that was not kept" "$report" 'Failed: .*short'

exits "no failure gives 0" 0 "$SOURCE_DIR/tools/run-tests" -C "$T/build" --suite fine
is "closing line of a suite" "$(tail -n 1 "$T/stdout")" "2 passed, 0 failed, 2 skipped"

# A test that fails once, and one that fails always, run again.
printf 'test -e %s/once || { touch %s/once; echo "# the first time"; echo not ok 1 - unlucky; exit 1; }; echo ok 1 - unlucky\necho 1..1\n' \
    "$T" "$T" >"$T/project/skips.sh"
exits "again: what fails has failed" 1 "$SOURCE_DIR/tools/run-tests" -C "$T/build" --again
report=$(cat "$T/stdout")
is "again: once is a failure" "$(tail -n 1 "$T/stdout")" "5 passed, 4 failed, 1 skipped"
matches "again: what passed then is told" "$report" '^Failed, and passed when run again alone: .*skips'
contains "again: with what it said the first time" "$report" "# the first time"

# What the machine has is required of the tests.
# shellcheck disable=SC2016 # for the inner shell
printf '. "$TAP_SH"; note "required: $IFG_REQUIRE"; skip one "unicorns: none"; done_testing\n' >"$T/project/skips.sh"
exits "no unicorns are required" 0 "$SOURCE_DIR/tools/run-tests" -C "$T/build" skips
is "they are skipped" "$(tail -n 1 "$T/stdout")" "0 passed, 0 failed, 1 skipped"
exits "--require" 1 "$SOURCE_DIR/tools/run-tests" -C "$T/build" --require bears --require unicorns skips
is "is a failure" "$(tail -n 1 "$T/stdout")" "0 passed, 1 failed, 0 skipped"
contains "which is told" "$(cat "$T/stdout")" "# IFG_REQUIRE has it, and yet: unicorns: none"
exits "IFG_REQUIRE goes before" 0 env IFG_REQUIRE=bears "$SOURCE_DIR/tools/run-tests" -C "$T/build" --require unicorns skips
if [ "$(id -u)" -eq 0 ]; then
    "$SOURCE_DIR/tools/run-tests" -C "$T/build" --require unicorns skips >"$T/stdout"
    matches "root is root" "$(cat "$T/stdout")" '# required: ([a-z0-9-]+,)*root,'
fi

exits "no build directory" 1 "$SOURCE_DIR/tools/run-tests" -C "$T/none"
is "closing line without a build" "$(tail -n 1 "$T/stdout")" "0 passed, 1 failed, 0 skipped"

done_testing
