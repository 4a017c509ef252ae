#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of annotations share; read after tap.sh.
#
#   annotate OPTIONS... -- COMMAND...   records it in $trace; its output is in $T/out, its status in $status
#   zones                "name count" of each zone, in order of names, with semicolons
#   spans                the same of spans
#   rows SQL             rows of $trace, a comma between columns
#   instrument           state and reason of the annotations
#   crossing             pairs of zones of a thread that cross: never any
#   need NAME            skips everything unless the package is in the cache
# shellcheck disable=SC2034,SC2154

trace=$T/trace.ifg
annotated=$PROGRAMS/annotated
library=$BUILD_DIR/hooks/libinferogram-annotations.so
cache=${XDG_CACHE_HOME:-${HOME:-$T}/.cache}/inferogram
unset NVTX_INJECTION64_PATH INTEL_LIBITTNOTIFY64 IFG_ANNOTATIONS IFG_NVTX_NEXT IFG_ITT_NEXT IFG_HOOKS_DIR

# The library in the watched program is not sanitized, and takes libinferogram along, which is then.
case ${SANITIZE:-none} in
none) ;;
*) skip_all "a sanitized library cannot be loaded into other programs" ;;
esac

annotate() {
    status=0
    rm -f "$trace"
    "$INFEROGRAM" record -q --no-sample --no-resources -o "$trace" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

rows() {
    "$INFEROGRAM" query "$trace" --csv "$1" |
        python3 -c 'import csv, sys; print("\n".join(",".join(row) for row in list(csv.reader(sys.stdin))[1:]))'
}
one_line() { tr '\n' ';' | sed 's/;$//'; }
zones() { rows "SELECT name || ' ' || count(*) FROM slice GROUP BY name ORDER BY name" | one_line; }
spans() { rows "SELECT name || ' ' || count(*) FROM async_span GROUP BY name ORDER BY name" | one_line; }
instrument() { rows "SELECT state || ': ' || reason FROM instrument WHERE name = 'annotations'"; }
lost() { rows "SELECT ifnull(sum(count), 0) FROM loss"; }

crossing() {
    rows "SELECT process, thread, start_ns, start_ns + dur_ns FROM slice ORDER BY process, thread, start_ns, dur_ns DESC" |
        python3 -c '
import sys
crossing, stack, of = 0, [], None
for line in sys.stdin:
    process, thread, start, end = map(int, line.split(","))
    if (process, thread) != of:
        stack, of = [], (process, thread)
    while stack and stack[-1] <= start:
        stack.pop()
    crossing += bool(stack) and end > stack[-1]
    stack.append(end)
print(crossing)'
}

need() {
    "$SOURCE_DIR/tools/fetch-runtimes" "$1" >/dev/null 2>"$T/fetch" || skip_all "runtimes: $(tail -n 1 "$T/fetch")"
}
