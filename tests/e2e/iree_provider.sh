#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tracing provider for IREE: what a program says with IREE's macros arrives in the trace as it was said, as C and as
# C++, in every tracing mode; with IFG_DISABLE nothing of us is left.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"

sanitized && skip_all "the library was built with a sanitizer"

library=$(dirname "$LIBINFEROGRAM")
strict='-Wall -Wextra -Wshadow -Wpedantic -Werror -pthread -O1'

build() { # STANDARD MODE PROGRAM FLAGS...
    case $1 in c++*) compiler=$CXX language=c++ ;; *) compiler=$CC language=c ;; esac
    standard=$1 mode=$2 program=$3
    shift 3
    # shellcheck disable=SC2086 # lists of words
    $compiler -x $language -std="$standard" $strict -DIREE_TRACING_MODE="$mode" \
        '-DIREE_TRACING_PROVIDER_H="inferogram/iree_tracing.h"' -I "$SOURCE_DIR/include" \
        "$SOURCE_DIR/tests/programs/iree_program.c" -x none -o "$program" "$@"
}
with_library() { build "$@" "$LIBINFEROGRAM" -Wl,-rpath,"$library"; }
has() { # NAME TIMES PATTERN
    is "$1" "$(lines "$3")" "$2"
}

# Mode 4 asks for everything.
for standard in c11 c17 c++11 c++17; do
    zones=12 details=8
    case $standard in c++*)
        zones=15 details=11 # scopes
        if [ -z "${CXX:-}" ]; then
            skip "$standard" "tools: no C++ compiler"
            continue
        fi
        ;;
    esac
    ok "$standard" with_library $standard 4 "$T/on"
    is "$standard: not recorded" "$("$T/on")" 3100
    record "$T/on"
    is "$standard: recorded, it prints the same" "$status $output" "0 3100"
    sound "$standard"
    counts "$standard: counts" zones $zones details $details messages 9 counters 5 frames 3 open 0 dropped 0 threads 2
    is "$standard: no end is missing, none came twice" "$(lost 'came twice')" 0
    ok "$standard, IFG_DISABLE" build $standard 4 "$T/off" -DIFG_DISABLE
    is "$standard, IFG_DISABLE: prints the same" "$("$T/off")" 3100
    is "$standard, IFG_DISABLE: no symbol of ours" "$(nm "$T/off" | grep -c ' [A-TV-Z] ifg_\| U ifg_')" 0
    if [ $standard = c++17 ]; then
        dump
        has "a scope has its function's name" 1 '^zone .*name=scopes in=-$'
        has "a named scope is inside" 2 '^zone .*name=scoped in=scopes$'
        has "value of a scope" 1 '^detail .*zone=scopes value=5$'
        has "text of a scope" 2 '^detail .*zone=scoped text="in a scope"$'
    fi
done

with_library c17 4 "$T/program"
record "$T/program"
dump
has "a zone has its function's name" 1 '^zone .*name=zones in=-$'
has "a named zone is inside" 1 '^zone .*name=named in=zones$'
has "a name at run time" 2 '^zone .*name=vm.call x in=named$'
has "another one in the same memory" 1 '^zone .*name=vm.call y in=named$'
has "a name at run time is one location" 1 '^location .*name=vm.call x function=zones file=iree_program.c line=yes$'
has "a dispatch, begun in one function and ended in another" 2 '^zone .*name=dispatch_0 in=named$'
has "its source, cut where IREE says" 1 '^location .*name=dispatch_1 function=dispatch_1 file=model.mlir line=yes$'
has "an external zone with a name of its own" 1 '^location .*name=own name function=function file=a.c line=yes$'
has "the end by an early return" 2 '^zone .*name=fails_if in=-$'
has "colour" 1 "^detail .*zone=named color=$((0x1123456))u\$"
has "values, one after the other" 1 '^detail .*zone=named value=-7$'
has "values: the second" 1 '^detail .*zone=named value=8$'
has "text" 1 '^detail .*zone=named text="whole"$'
has "text with a length" 1 '^detail .*zone=named text="part"$'
has "text of an external zone" 2 '^detail .*zone=dispatch_0 text="tag"$'
has "plot: a number" 1 '^counter .*name=pending value=-3$'
has "plot: memory" 1 '^counter .*name=cached bytes value=1099511627776$'
has "plot: a percentage, float" 1 '^counter .*name=task executor % value=50$'
has "plot: double, a name at run time" 1 '^counter .*name=Task executor value=0.25$'
has "plot: a type that comes too late changes nothing" 1 '^counter .*name=pending value=4$'
has "allocation" 1 '^alloc .*name=IREE host address=yes bytes=64$'
has "free" 1 '^free .*name=IREE host$'
has "allocation of a pool" 1 '^alloc .*name=device pool address=yes bytes=4096$'
has "free of a pool" 1 '^free .*name=device pool$'
for message in '4 "an error"' '3 "a warning"' '2 "a fact"' '1 "a detail"' '0 "a step"' '3 "yellow"' '2 "blue"' \
    '4 "copied"' '0 "green"'; do
    has "message: $message" 1 "^message .*level=$message\$"
done
has "frame" 1 '^frame .*name=$'
has "named frame" 2 '^frame .*name=Iteration$'
has "discontinuous frame" 1 '^begin .*name=init id=0$'
has "discontinuous frame: end" 1 '^end .*name=init id=0$'
has "fiber" 1 '^begin thread=0 name=fiber id=17$'
has "fiber: another one is entered" 1 '^begin thread=0 name=fiber id=18$'
has "fiber: and leaves the first" 1 '^end thread=0 name=fiber id=17$'
has "fiber: left" 1 '^end thread=0 name=fiber id=18$'
has "fiber: continued on another thread" 1 '^begin thread=1 name=fiber id=17$'
has "thread name" 1 '^thread 1 .*name=iree-worker-0$'
ok "info" "$INFEROGRAM" info "$trace"
contains "info: what is shown" "$(cat "$T/stdout")" "IREE tracing provider on (zones, messages, plots, allocations)"
is "info: IREE is not called unused as well" "$(grep -c 'IREE off' "$T/stdout")" 0
contains "info: what the application says of itself" "$(cat "$T/stdout")" "application of IREE on (version 7)"

# The other modes: fewer features, as IREE defines them.
for expected in "0 0 0 0" "1 12 0 0" "2 12 4 0" "3 12 4 3"; do
    mode=${expected%% *}
    ok "mode $mode" with_library c17 "$mode" "$T/mode"
    record "$T/mode"
    dump
    is "mode $mode: zones, allocations and frees, fibers" \
        "$mode $(total zones) $(lines '^alloc \|^free ') $(lines '^begin .*name=fiber')" "$expected"
done
done_testing
