#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the hooks share. Real runtimes come from the user's cache (tools/fetch-runtimes); a test
# that cannot have them is skipped.
#
#   need NAME...          skips everything unless these are there
#   have NAME             the same for a part of a test
#   cached NAME           its folder
#   ort VERSION           the library of that version
#   app ARGUMENTS         ort_app
#   same NAME COMMAND...  runs it without and with recording: same output and exit status. Trace in $trace;
#                         options for record in $record_options
#   rows SQL              rows of $trace, a comma between columns
#   property MODEL KEY    what is known of a model
#   instrument PATTERN    state and reason of the first instrument whose name is LIKE that
#   counts                events of each category but set-up and preparation, in one line
#   set_up                inferences with a set-up between them and what their thread ran before
# shellcheck disable=SC2034,SC2154 # used by the tests, set by tap.sh

cache=${XDG_CACHE_HOME:-${HOME:-$T}/.cache}/inferogram
models=$T/models
trace=$T/trace.ifg
record_options=
inference_locations="SELECT id FROM location WHERE category = 'inference'"

sanitized() { case ${SANITIZE:-none} in none) false ;; esac; }

# What ONNX Runtime leaks is not ours to find.
if sanitized; then
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    export ASAN_OPTIONS
fi

# A program that was not built with the sanitizer cannot load a library that was.
need_plain_build() {
    ! sanitized || skip_all "a sanitized library cannot be preloaded into other programs"
}

have() { "$SOURCE_DIR/tools/fetch-runtimes" "$1" >/dev/null 2>"$T/fetch"; }

need() {
    for wanted in "$@"; do
        have "$wanted" || skip_all "runtimes: $(tail -n 1 "$T/fetch")"
    done
}

cached() { printf '%s/%s' "$cache" "$1"; }
# From the node package, or else from the wheel, which has the library for programs too.
ort() {
    if [ -e "$cache/ort-node-$1" ]; then
        printf '%s/ort-node-%s/libonnxruntime.so' "$cache" "$1"
    else
        find "$cache/python-$1/" -name "libonnxruntime.so.$1" | head -n 1
    fi
}
app() { "$PROGRAMS/ort_app" "$@"; }

same() {
    same_name=$1
    shift
    same_plain=0
    same_recorded=0
    rm -f "$trace"
    "$@" >"$T/plain.out" 2>"$T/plain.err" </dev/null || same_plain=$?
    # shellcheck disable=SC2086 # options
    "$INFEROGRAM" record -q $record_options -o "$trace" -- "$@" >"$T/recorded.out" 2>"$T/recorded.err" </dev/null ||
        same_recorded=$?
    if [ "$same_plain" -eq "$same_recorded" ] && cmp -s "$T/plain.out" "$T/recorded.out" &&
        cmp -s "$T/plain.err" "$T/recorded.err"; then
        pass "$same_name: same output and exit status"
    else
        fail "$same_name: same output and exit status" "status $same_plain, recorded $same_recorded
$(diff "$T/plain.out" "$T/recorded.out" | head -n 10)
$(diff "$T/plain.err" "$T/recorded.err" | head -n 10)"
    fi
}

rows() {
    "$INFEROGRAM" query "$trace" --csv "$1" |
        python3 -c 'import csv, sys; print("\n".join(",".join(row) for row in list(csv.reader(sys.stdin))[1:]))'
}
property() { rows "SELECT value FROM model_property WHERE model = '$1' AND key = '$2'"; }
instrument() { rows "SELECT state || ': ' || reason FROM instrument WHERE name LIKE '$1' LIMIT 1"; }

counts() {
    rows "SELECT group_concat(category || ' ' || n, ', ') FROM (SELECT category, count(*) AS n FROM ml_event
          WHERE category NOT IN ('prepare-ep', 'setup') GROUP BY category ORDER BY category)"
}

# Calls that are far apart in time are set-ups of their own, so there may be more set-ups than this.
set_up() {
    rows "WITH e AS (SELECT category, start_ns, lag(category) OVER one AS before, lag(start_ns + dur_ns) OVER one AS before_ns
              FROM ml_event WHERE category IN ('setup', 'inference') WINDOW one AS (PARTITION BY thread ORDER BY start_ns))
          SELECT count(*) FROM e WHERE category = 'inference' AND before = 'setup' AND before_ns <= start_ns"
}

# Attributes of inferences, one line for each different value: "value count".
inference_attributes() {
    rows "SELECT a.value || ' ' || count(*) FROM attribute a JOIN ml_event e ON e.id = a.slice
          WHERE e.category = 'inference' AND a.key = '$1' GROUP BY a.value ORDER BY a.value"
}

attributes() { # CATEGORY KEY: values in order of time
    rows "SELECT a.value FROM attribute a JOIN ml_event e ON e.id = a.slice
          WHERE e.category = '$1' AND a.key = '$2' ORDER BY e.start_ns" | tr '\n' ' ' | sed 's/ $//'
}

python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$models" || exit 99
