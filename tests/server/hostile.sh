#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces that are broken, empty or made to do harm: everything is answered or refused, and the server lives on.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

mkdir "$T/traces"
cp "$SOURCE_DIR/tests/golden/v1.0.ifg" "$T/traces/golden.ifg"
"$REPORT_TRACES" profile "$T/traces/profile.ifg"
size=$(wc -c <"$T/traces/profile.ifg")
for part in 3 5 7 9; do
    head -c $((size * part / 10)) "$T/traces/profile.ifg" >"$T/traces/cut-$part.ifg"
done
: >"$T/traces/nothing.ifg"
for folder in trace_reader analyze_timeline; do
    for file in "$SOURCE_DIR/tests/corpus/$folder"/*; do
        cp "$file" "$T/traces/$folder-$(basename "$file").ifg"
    done
done
"$FORGED_TRACES" numbers "$T/traces/numbers.ifg"
serve -q "$T/traces"
ok "all of them, everything" python3 "$SOURCE_DIR/tests/server/hostile.py" "$url"
note "$(cat "$T/stdout")"
stop_serving
is "the server lives to the end" "$status" 0
for command in info report "stats --by thread" "report --html $T/numbers.html" "export --format chrome -o $T/numbers.json" \
    "export --format pprof -o $T/numbers.pb.gz"; do
    # shellcheck disable=SC2086 # words
    set -- $command
    name=$1
    shift
    exits "numbers that do not fit: $command" 0 "$INFEROGRAM" "$name" "$T/traces/numbers.ifg" "$@"
done
done_testing
