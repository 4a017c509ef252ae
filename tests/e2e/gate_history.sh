#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram gate --history: every run becomes a file, a slow drift is found in the right run, and what is
# damaged or of another context is left out.
. "$TAP_SH"

cd "$T" || exit 99
unset GITHUB_ACTIONS GITHUB_SHA CI_COMMIT_SHA GIT_COMMIT

gate() { "$INFEROGRAM" gate "$@"; }
result() { python3 "$SOURCE_DIR/tests/e2e/gate_results.py" "$@"; }
value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
run_of() { # DAY MEDIAN: a small result of that day
    result r.json processes=2 blocks=5 per_block=2 "median=$2" "seed=$1" "when=2026-10-$1T12:00:00Z"
}

day=10
while [ $day -le 20 ]; do
    run_of $day 10
    GITHUB_SHA=0123456789abcdef0123456789abcdef012345$day gate --result r.json --history runs >out 2>err || fail "day $day" "$(cat out err)"
    day=$((day + 1))
done
# shellcheck disable=SC2012 # names of our own
is "a file for each run" "$(ls runs | wc -l | tr -d ' ')" 11
ok "named by time and commit" test -f runs/20261010T120000Z-0123456789ab.json
ok "which is a result like any other" gate --result runs/20261010T120000Z-0123456789ab.json --max p50=11ms
lacks "nothing changed" "$(cat out)" "DRIFT"

while [ $day -le 26 ]; do
    run_of $day 10.4
    GITHUB_SHA=fedcba9876543210fedcba9876543210fedcba$day gate --result r.json --history runs >out 2>err || fail "day $day" "$(cat out err)"
    day=$((day + 1))
done
matches "a drift, since when and how much" "$(cat out)" \
    '^DRIFT  p50 rose [34]\.[0-9] % since 2026-10-2[01] (fedcba987654|0123456789ab), run 1[12] of 17 '
run_of 27 10.4
exits "it is only a warning" 0 gate --result r.json --history runs
run_of 28 10.4
exits "it fails if asked to" 1 gate --result r.json --history runs --fail-on-drift --junit out.xml --json
is "in JSON" "$(value '[(c["metric"], 0.03 < c["change"] < 0.05, c["runs"]) for c in d["history"]["changes"]]' <stdout)" \
    "[('p50', True, 19)]"
is "in JUnit" "$(python3 -c 'import xml.etree.ElementTree as t; print([c.get("name") for c in t.parse("out.xml").iter("testcase") if c.find("failure") is not None])')" \
    "['drift']"
run_of 29 10.4
exits "4 % is not told if 10 % is asked for" 0 gate --result r.json --history runs --drift 10 --fail-on-drift

# Others in the same place.
printf '{"schema":1,' >runs/cut.json
printf 'x' >runs/notes.txt
mkdir runs/folder.json
result r.json processes=2 blocks=5 per_block=2 "cpu=Another" "when=2026-10-30T12:00:00Z"
exits "another machine has a series of its own" 0 gate --result r.json --history runs --fail-on-drift --json
is "one run" "$(value 'd["history"]["runs"]' <stdout)" 1
contains "a damaged file is named" "$(cat stdout)" "cut.json"
contains "so is what is no file" "$(cat stdout)" "folder.json"
lacks "what is none of ours is not" "$(cat stdout)" "notes.txt"

# Refusals.
result r.json trust=BAD processes=2 blocks=5 per_block=2
exits "noise is not remembered" 0 gate --result r.json --history noisy
contains "that is said" "$(cat stdout)" "nothing was added to the history"
ok "nothing was" test ! -e noisy
printf 'x' >file
result r.json processes=2 blocks=5 per_block=2
exits "a history that is a file" 2 gate --result r.json --history file
printf '{"raw_samples_ms": [1, 2, 3]}' >foreign.json
exits "a result that does not say when" 2 gate --result foreign.json --history runs
contains "why" "$(cat stderr)" "when it was measured"
exits "a commit that is none" 0 env GITHUB_SHA=../../../evil "$INFEROGRAM" gate --result r.json --history plain
is "is not part of the name" "$(ls plain)" "20261001T120000Z.json"

done_testing
