#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often samples are taken: inside a budget unless a rate is asked for, and what that cost is told.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
cd "$T" || exit 1
unset IFG_RECORD_OPTIONS # tests are run without samples otherwise
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "samples: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi
primes="1 3 7 13 31 61 97 127 251 499 997 1999"

work() { # FILE OPTIONS...: of a program that is busy for 0.6 s
    file=$1
    shift
    exits "record $*" 7 "$INFEROGRAM" record -f -o "$file" "$@" -- "$SAMPLE_TARGET" "$SAMPLE_WORK" plain
    is "record $*: the program's output" "$(cat stdout)" "done"
}
sampling() { json "$1" "d['sampling']$2"; }
one_of() { # NAME VALUE LIST
    case " $3 " in
    *" $2 "*) pass "$1 ($2)" ;;
    *) fail "$1" "$2 is not one of $3" ;;
    esac
}

# ---- as it comes ----

work default.ifg
hz=$(sampling default.ifg "['hz']")
one_of "the rate is a prime of the list" "$hz" "$primes"
matches "and it is printed, with what it costs" "$(cat stderr)" "call stacks at $hz Hz.* [0-9.]+ %"
ok "there are samples" test "$(sampling default.ifg "['samples']")" -ge 1
is "everything that is told of them" "$(sampling default.ifg ".keys() >= {'hz', 'samples', 'lost', 'rooted_share', 'inferred_share', 'unwind_us', 'measured_overhead_pct'}")" True
is "shares are shares" "$(sampling default.ifg "['rooted_share'] <= 1 and 0 <= d['sampling']['inferred_share'] <= 1")" True
ok "stacks reach the root" test "$(sampling default.ifg "['rooted_share'] * 100 // 1" | cut -d. -f1)" -ge 90
is "what a rate costs is inside the budget" "$(sampling default.ifg ".get('estimated_overhead_pct', 0) <= 1")" True
work asked.ifg --sample
is "--sample without a rate is the same" "$(sampling asked.ifg "['hz'] in ($(echo "$primes" | tr ' ' ','))")" True

# ---- a budget, a rate, none ----

work low.ifg --overhead 0.1
work high.ifg --overhead 5
low=$(sampling low.ifg "['hz']")
high=$(sampling high.ifg "['hz']")
one_of "--overhead 0.1: a prime" "$low" "$primes"
one_of "--overhead 5: a prime" "$high" "$primes"
ok "--overhead 0.1 takes fewer than --overhead 5 ($low, $high Hz)" test "$low" -lt "$high"
work rate.ifg --sample=997
is "--sample=997 is honoured" "$(sampling rate.ifg "['hz']")" 997
ok "and there are more of them" test "$(sampling rate.ifg "['samples']")" -gt "$(sampling low.ifg "['samples']")"
work odd.ifg --sample=100
is "so is a rate that is no prime" "$(sampling odd.ifg "['hz']")" 100
work none.ifg --no-sample
is "--no-sample: none" "$(json none.ifg "(d.get('sampling') or {}).get('samples', 0)")" 0
is "and why" "$(json none.ifg "[(i['state'], i['reason']) for i in d['instruments'] if i['name'] == 'samples']")" "[('off', '--no-sample was given')]"
lacks "nor are they spoken of" "$(cat stderr)" "call stacks"

IFG_RECORD_OPTIONS=--no-sample
export IFG_RECORD_OPTIONS
work standing.ifg
is "--no-sample as a standing option" "$(json standing.ifg "[i['state'] for i in d['instruments'] if i['name'] == 'samples']")" "['off']"
work standing.ifg --sample=61
is "the command line has the last word" "$(sampling standing.ifg "['hz']")" 61
unset IFG_RECORD_OPTIONS

for bad in 0 -1 x 1x '' nan inf 1e9; do
    exits "--overhead '$bad' is refused" 2 "$INFEROGRAM" record -o bad.ifg --overhead "$bad" -- true
    matches "--overhead '$bad': says what it wants" "$(cat stderr)" "^inferogram.*overhead|percent|%"
done
for bad in 0 -1 x 1x '' 1000000; do
    exits "--sample='$bad' is refused" 2 "$INFEROGRAM" record -o bad.ifg "--sample=$bad" -- true
    matches "--sample='$bad': says what it wants" "$(cat stderr)" "samples a second"
done
ok "nothing was written" test ! -e bad.ifg

# ---- a model: the cost is measured while it runs ----

if sanitized || ! command -v node >/dev/null || ! have ort-node-1.30.0 || ! have silero; then
    skip "a model in node" "a sanitized build, no node, or no runtime: $(tail -n 1 "$T/fetch" 2>/dev/null | grep . || echo "nothing was refused")"
else
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    record_options="--sample=499"
    same "a model in node" node "$SOURCE_DIR/tests/runtimes/vad.js" "$(cached silero)/silero_vad_v5.onnx" 6000
    cost=$(sampling "$trace" "['measured_overhead_pct']")
    note "measured: $cost % +- $(sampling "$trace" ".get('overhead_error_pct')"), estimated $(sampling "$trace" ".get('estimated_overhead_pct')")"
    is "a cost is a number, or it is not known yet" "$(sampling "$trace" "['measured_overhead_pct'] is None or -10 - 3 * (d['sampling'].get('overhead_error_pct') or 0) < d['sampling']['measured_overhead_pct'] < 50 + 3 * (d['sampling'].get('overhead_error_pct') or 0)")" True
    is "sampling is off for moments only" "$(sampling "$trace" "['on_share'] > 0.5")" True
fi
done_testing
