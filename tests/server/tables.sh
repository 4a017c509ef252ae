#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables and trees of the page: statistics, flame graph, annotated code, operators, memory, waits, report, comparison.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

check() { # CASE...
    for case in "$@"; do
        ok "$case" python3 "$SOURCE_DIR/tests/server/tables.py" "$url" "$INFEROGRAM" "$case"
    done
}

mkdir "$T/traces"
for kind in profile showcase many odd plain empty; do
    "$REPORT_TRACES" "$kind" "$T/traces/$kind.ifg"
done
echo "this is no trace" >"$T/traces/bad.ifg"
serve -q "$T/traces"
check flame stats sampling annotate ops switches documents parameters
stop_serving
is "served to the end" "$status" 0

mkdir "$T/hostile"
size=$(wc -c <"$T/traces/profile.ifg")
for part in 3 5 7 9; do
    head -c $((size * part / 10)) "$T/traces/profile.ifg" >"$T/hostile/cut-$part.ifg"
done
for file in "$SOURCE_DIR/tests/golden/v1.0.ifg" "$SOURCE_DIR"/tests/corpus/analyze_timeline/*; do
    cp "$file" "$T/hostile/$(basename "$file" .ifg).ifg"
done
serve -q "$T/hostile"
check hostile
note "$(cat "$T/stdout")"
stop_serving
is "broken traces: served to the end" "$status" 0

if "$INFEROGRAM" record -q --sample=997 --memory -o "$T/real.ifg" -- "$SAMPLE_TARGET" "$SAMPLE_WORK" plain >"$T/out"; [ ! -s "$T/real.ifg" ] ||
    ! "$INFEROGRAM" info "$T/real.ifg" | grep -q 'samples on'; then
    skip "a program that was sampled" "samples: $("$INFEROGRAM" info "$T/real.ifg" | grep -o 'samples not available.*')"
else
    serve -q "$T/real.ifg"
    check real
    note "$(cat "$T/stdout")"
    stop_serving
fi
done_testing
