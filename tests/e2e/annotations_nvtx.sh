#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVTX annotations of unmodified programs: every call is there, threads and forks, the switch, the environment;
# and the real thing, Python's nvtx package.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/annotations_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

# ---- a program that uses all of it -----------------------------------------------------------------
annotate -- "$annotated" nvtx 500
is "the program ends as ever" "$status $(cat "$T/out")" "0 nvtx 500"
is "nothing is printed" "$(cat "$T/err")" ""
is "every push is a zone" "$(zones)" "in a domain 500;inner 500;outer 500"
is "every start is a span" "$(spans)" "span 500"
is "every mark is a message" "$(rows "SELECT text, count(*) FROM message GROUP BY text")" "mark,500"
is "a zone has its domain" "$(rows "SELECT DISTINCT function FROM location WHERE name = 'in a domain'")" mine
is "payload and category" "$(rows "SELECT key, value, count(*) FROM attribute GROUP BY key, value ORDER BY key")" \
    "category,first,500
payload,42,500"
is "inner lies in outer" "$(rows "SELECT count(*) FROM slice a JOIN slice b ON a.parent_id = b.id
    WHERE a.name = 'inner' AND b.name = 'outer'")" 500
is "info tells of it" "$(instrument)" "on: NVTX and ITT; domains: early, mine, tasks, NVTX"
is "nothing is lost" "$(lost)" 0

annotate -- "$annotated" threads 8 200
is "eight threads: status" "$status" 0
is "eight threads: every zone" "$(zones)" \
    "in a domain 1600;inner 1600;inner task 1600;outer 1600;outer task 1600"
is "eight threads: every span" "$(spans)" "span 1600"
is "eight threads: counter" "$(rows "SELECT count(*) FROM counter WHERE name = 'done'")" 1600
is "eight threads: zones nest" "$(crossing)" 0

annotate -- "$annotated" fork
is "fork: status" "$status" 0
is "fork: the range around it is the parent's" "$(zones)" "around the fork 1;in the child 1"
is "fork: two processes" "$(rows "SELECT count(DISTINCT process) FROM slice")" 2
is "fork: nothing is lost" "$(lost)" 0

annotate -- "$annotated" cross
is "ranges that cross: one of two is a span" "$(zones) / $(spans)" "left 10;next 10 / right 10"
is "ranges that cross: zones nest" "$(crossing)" 0
is "ranges that cross: nothing is lost" "$(lost)" 0

annotate -- "$annotated" inside
is "a range that ends inside of a zone: a span, and nothing unfinished" \
    "$(zones) / $(spans) / $(rows "SELECT count(*) FROM slice WHERE unfinished = 1") / $(lost)" \
    "of the library 1 / crossing 1 / 0 / 0"

annotate -- "$annotated" confined 3
is "a program that confines itself first loads nothing, and lives" "$status $(cat "$T/out")" "0 confined 3"

# ---- the switch ------------------------------------------------------------------------------------
annotate --annotations mine -- "$annotated" nvtx 5
is "--annotations mine" "$(zones)" "in a domain 5"
is "info says what is left out" "$(instrument)" \
    "on: NVTX and ITT; domains: early (left out), mine, tasks (left out), NVTX (left out)"
annotate --annotations=-mine -- "$annotated" nvtx 5
is "--annotations=-mine" "$(zones)" "inner 5;outer 5"
annotate --annotations 'm*,NVTX' -- "$annotated" threads 1 5
is "--annotations 'm*,NVTX'" "$(zones)" "in a domain 5;inner 5;outer 5"
annotate --annotations off -- "$annotated" nvtx 5
is "--annotations off" "$(zones)" ""
is "info says so" "$(instrument)" "off: --annotations off was given"
annotate --annotations auto -- env
contains "the variables" "$(cat "$T/out")" "NVTX_INJECTION64_PATH=$library"
contains "of both" "$(cat "$T/out")" "INTEL_LIBITTNOTIFY64=$library"
is "not those of 32 bits" "$(grep -c -e INJECTION32 -e NOTIFY32 "$T/out")" 0
lacks "no list" "$(cat "$T/out")" IFG_ANNOTATIONS
is "a program without annotations" "$(instrument)" "off: no process used NVTX or ITT"
annotate --annotations off -- env
lacks "off sets none" "$(cat "$T/out")" libinferogram-annotations
annotate --hook none -- env
lacks "--hook none sets none" "$(cat "$T/out")" libinferogram-annotations
is "and says so" "$(instrument)" "off: --hook none was given"
exits "a process that runs already" 2 "$INFEROGRAM" record --annotations off --pid $$
exits "an empty list" 2 "$INFEROGRAM" record --annotations= -- true
annotate -- "$INFEROGRAM" record -q --no-sample -o "$T/inner.ifg" -- env
lacks "a recorder in a recording does not follow itself" "$(cat "$T/out")" _NEXT
mkdir "$T/empty"
IFG_HOOKS_DIR=$T/empty annotate -- "$annotated" nvtx 5
is "without the library" "$status $(instrument)" \
    "0 unavailable: libinferogram-annotations.so is missing in $T/empty"

# ---- a program that is armed, and recorded later ---------------------------------------------------
env NVTX_INJECTION64_PATH="$library" "$annotated" nvtx 100000 >"$T/out"
is "armed and not recorded: runs as ever" "$? $(cat "$T/out")" "0 nvtx 100000"
: >"$T/armed"
spawn env NVTX_INJECTION64_PATH="$library" "$annotated" until "$T/stop" >"$T/armed"
# shellcheck disable=SC2154 # set by spawn
armed=$spawned
until_true 60 grep -q ready "$T/armed"
spawn "$INFEROGRAM" record --no-sample -f --pid "$armed" -o "$trace" 2>"$T/late.err"
late=$spawned
until_true 60 grep -q recording "$T/late.err" || note "$(cat "$T/late.err")"
until_true 60 sh -c "'$INFEROGRAM' query '$trace' \"SELECT count(*) FROM slice WHERE name = 'outer'\" | grep -q '[1-9]'"
touch "$T/stop"
wait "$late"
is "attached later: zones" "$(rows "SELECT count(*) > 0 FROM slice WHERE name = 'outer'")" 1
is "attached later: on" "$(instrument)" "on: NVTX; domains: mine, NVTX"

# ---- Python ----------------------------------------------------------------------------------------
need annotations
cat >"$T/program.py" <<'END'
import threading
import nvtx

@nvtx.annotate("decorated", color="red", domain="mine")
def work():
    pass

for i in range(100):
    with nvtx.annotate("outer", category="loading", payload=i):
        work()
        nvtx.push_range("pushed")
        nvtx.pop_range()
    nvtx.mark("marked")
started = nvtx.start_range("across threads")
other = threading.Thread(target=nvtx.end_range, args=(started,))
other.start()
other.join()
print("done")
END
annotate -- "$cache/annotations/bin/python" "$T/program.py"
is "Python's nvtx: status" "$status $(cat "$T/out") $(cat "$T/err")" "0 done "
is "Python's nvtx: every range" "$(zones)" "decorated 100;outer 100;pushed 100"
is "Python's nvtx: a span across threads" "$(spans)" "across threads 1"
is "Python's nvtx: marks" "$(rows "SELECT text, count(*) FROM message GROUP BY text")" "marked,100"
is "Python's nvtx: payloads" "$(rows "SELECT count(DISTINCT value) FROM attribute WHERE key = 'payload'")" 100
is "Python's nvtx: categories" "$(rows "SELECT DISTINCT value FROM attribute WHERE key = 'category'")" loading
is "Python's nvtx: colors" "$(rows "SELECT printf('%06x', color) FROM location WHERE name = 'decorated'")" ff0000
annotate --annotations mine -- "$cache/annotations/bin/python" "$T/program.py"
is "Python's nvtx: one domain" "$(zones)" "decorated 100"
done_testing
