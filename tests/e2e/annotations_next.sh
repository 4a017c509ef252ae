#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An injection that was configured before ours gets every call, as if we were not there: recorded, not recorded,
# from C and from Python; and one that is missing or broken harms nothing.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/annotations_lib.sh"
next=$PROGRAMS/annotation_next.so
ANNOTATION_NEXT=$T/next
export ANNOTATION_NEXT

# alone COMMAND...: what it counts without us, in $expected.
alone() {
    rm -f "$ANNOTATION_NEXT"
    NVTX_INJECTION64_PATH=$next INTEL_LIBITTNOTIFY64=$next "$@" >/dev/null
    expected=$(cat "$ANNOTATION_NEXT")
    rm -f "$ANNOTATION_NEXT"
}

alone "$annotated" threads 4 250
matches "the other injection counts" "$expected" '^push 3000 pop 3000 mark 1000 start 1000 end 1000 domain 1 .* task 2000 2000 .*strangers 0$'

NVTX_INJECTION64_PATH=$next INTEL_LIBITTNOTIFY64=$next annotate -- "$annotated" threads 4 250
is "recorded: the same status" "$status" 0
is "recorded: it gets every call, with its own handles" "$(cat "$ANNOTATION_NEXT")" "$expected"
is "recorded: and so do we" "$(zones)" \
    "in a domain 1000;inner 1000;inner task 1000;outer 1000;outer task 1000"
is "recorded: spans by its numbers" "$(spans)" "span 1000"
matches "info names it, once" "$(instrument)" "^on: NVTX and ITT; domains: [^;]*; $next gets them too\$"
is "nothing is lost" "$(lost)" 0

rm -f "$ANNOTATION_NEXT"
NVTX_INJECTION64_PATH=$library INTEL_LIBITTNOTIFY64=$library IFG_NVTX_NEXT=$next IFG_ITT_NEXT=$next \
    "$annotated" threads 4 250
is "not recorded: it gets every call" "$(cat "$ANNOTATION_NEXT")" "$expected"

rm -f "$ANNOTATION_NEXT"
NVTX_INJECTION64_PATH=$next INTEL_LIBITTNOTIFY64=$next annotate --annotations mine -- "$annotated" threads 4 250
is "one domain for us: it gets every call" "$(cat "$ANNOTATION_NEXT")" "$expected"
is "one domain for us" "$(zones)" "in a domain 1000"

rm -f "$ANNOTATION_NEXT"
NVTX_INJECTION64_PATH=$next INTEL_LIBITTNOTIFY64=$next annotate --annotations off -- "$annotated" threads 4 250
is "off: it is as before" "$(cat "$ANNOTATION_NEXT")" "$expected"

rm -f "$ANNOTATION_NEXT"
NVTX_INJECTION64_PATH=$T/nowhere.so INTEL_LIBITTNOTIFY64=$T/nowhere.so annotate -- "$annotated" threads 4 250
is "one that is missing: status" "$status$(cat "$T/err")" 0
is "one that is missing: ours works" "$(spans)" "span 1000"
NVTX_INJECTION64_PATH=$library IFG_NVTX_NEXT=$library "$annotated" nvtx 10 >"$T/out"
is "ourselves as the other one: runs" "$? $(cat "$T/out")" "0 nvtx 10"

# ---- Python ----------------------------------------------------------------------------------------
need annotations
cat >"$T/program.py" <<'END'
import nvtx
import ittapi
domain = ittapi.domain('mine')
for i in range(100):
    with nvtx.annotate('range', domain='other'):
        with ittapi.task('task', domain=domain):
            nvtx.end_range(nvtx.start_range('span'))
END
alone "$cache/annotations/bin/python" "$T/program.py"
matches "Python: the other injection counts" "$expected" '^push 100 pop 100 mark 0 start 100 end 100 .* task 100 100 '
NVTX_INJECTION64_PATH=$next INTEL_LIBITTNOTIFY64=$next annotate -- "$cache/annotations/bin/python" "$T/program.py"
is "Python: it gets every call" "$(cat "$ANNOTATION_NEXT")" "$expected"
is "Python: and so do we" "$(zones) / $(spans)" "range 100;task 100 / span 100"
done_testing
