#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of bench share.
#
#   fake NAME LINE...    writes a model for the runtime that does as it is told (tests/programs/bench_fake.c)
#   bench ARGUMENTS      inferogram bench on that runtime, in few processes, with a fixed warm-up
#   value EXPRESSION     of the JSON document in $T/result.json, which is d
# shellcheck disable=SC2034,SC2154 # used by the tests, set by tap.sh

fake() {
    fake_name=$1
    shift
    { echo fake; printf '%s\n' "$@"; } >"$T/$fake_name"
}

bench() { "$INFEROGRAM" bench -q --runtime "$BENCH_FAKE" -w 5 --processes 2 "$@"; }

value() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$T/result.json" "$1"
}

fake quick run_us=200
quick=$T/quick
