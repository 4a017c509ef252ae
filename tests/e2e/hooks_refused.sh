#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where a hook cannot work the program runs untouched, and `info` says why nothing was seen.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build

same "a runtime of the future" "$PROGRAMS/ort_app" --ort "$PROGRAMS/ort_unknown.so" --model nothing.onnx --runs 5 --loads 2
contains "it ran" "$(cat "$T/recorded.out")" "unknown runtime: 2 sessions, 10 runs, 2 released"
matches "it is watched, and marked" "$(instrument 'ONNX Runtime 1.99.0')" '^on: launch hooks; newer than 1\.31'
contains "for people" "$("$INFEROGRAM" info "$trace")" "1.99"
is "its loads and runs" "$(counts)" "inference 10, load 2"
record_options=--ops
same "operators of it" "$PROGRAMS/ort_app" --ort "$PROGRAMS/ort_unknown.so" --model nothing.onnx --runs 5
matches "are not asked for" "$(instrument operators)" '^unavailable: .*newer than the tested ones'
record_options=

# A function that we wrap leads out of the library: whatever this is, it is not what we know.
same "a strange runtime of the future" env ORT_UNKNOWN_FOREIGN=1 "$PROGRAMS/ort_app" --ort "$PROGRAMS/ort_unknown.so" \
    --model nothing.onnx --runs 5
matches "it is left alone" "$(instrument 'ONNX Runtime 1.99.0')" '^unavailable: its table of functions is not as expected'
is "no events of it" "$(rows "SELECT count(*) FROM ml_event")" 0

cat >"$T/hello.c" <<'EOC'
#include <stdio.h>
int main(int argc, char **argv)
{
    printf("hello from %d arguments\n", argc);
    return argv[1] ? 5 : 0;
}
EOC
# shellcheck disable=SC2086 # the compiler may be two words
$CC -o "$T/hello" "$T/hello.c" || exit 99
same "a program without any runtime" "$T/hello" with words
matches "nothing appeared" "$(instrument 'ONNX Runtime%')" '^off: '

# shellcheck disable=SC2086
if $CC -static -o "$T/static" "$T/hello.c" 2>"$T/err"; then
    same "a static program" "$T/static" with words
    matches "static: the reason" "$(instrument 'ONNX Runtime%')" '^unavailable: .*static'
else
    skip "a static program" "tools: cannot be linked here"
fi

# The whole runtime inside the program: nobody can stand between.
# shellcheck disable=SC2086
$CC -D_GNU_SOURCE -I"$SOURCE_DIR"/src -o "$T/inside" "$SOURCE_DIR"/tests/programs/ort_app.c "$SOURCE_DIR"/tests/programs/ort_linked.c \
    "$SOURCE_DIR"/tests/programs/ort_unknown.c -lpthread || exit 99
same "a runtime inside the program" "$T/inside" --ort inside --model nothing.onnx --runs 3

if command -v musl-gcc >/dev/null && musl-gcc -o "$T/musl" "$T/hello.c" 2>"$T/err"; then
    same "a program of another C library" "$T/musl" with words
    matches "musl: the reason" "$(instrument 'ONNX Runtime%')" '^unavailable: .*musl'
    musl-gcc -static -o "$T/musl-static" "$T/hello.c" 2>"$T/err" && same "the same, static" "$T/musl-static"
else
    skip "a program of another C library" "tools: no musl-gcc (package musl-tools)"
fi

if [ "$(id -u)" -eq 0 ] && cp "$T/hello" "$T/setuid" && chmod 755 "$T" && chown nobody "$T/setuid" &&
    chmod u+s "$T/setuid" && ! findmnt -n -o OPTIONS -T "$T" 2>/dev/null | grep -q nosuid; then
    same "a program with the rights of another user" "$T/setuid" with words
    matches "setuid: the reason" "$(instrument 'ONNX Runtime%')" '^unavailable: .*(setuid|set-user|rights)'
else
    skip "a program with the rights of another user" "needs root and a file system that allows it"
fi

if have ort-node-1.30.0; then
    set -- "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" --runs 20
    IFG_OFF=1
    export IFG_OFF
    same "IFG_OFF" "$@"
    is "IFG_OFF: nothing" "$(rows "SELECT count(*) FROM ml_event")" 0
    unset IFG_OFF
    record_options="--hook none"
    same "--hook none" "$@"
    is "--hook none: nothing" "$(rows "SELECT count(*) FROM ml_event")" 0
    matches "--hook none: the reason" "$(instrument 'ONNX Runtime%')" '^(unavailable|off): .*hook'
    record_options="--hook preload"
    same "--hook preload" "$@"
    is "--hook preload: all" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 20
    record_options=
    same "through a shell" sh -c '"$@" | cat; exit 3' sh "$@"
    is "through a shell: all" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 20
    LD_PRELOAD=$PROGRAMS/ort_unknown.so
    export LD_PRELOAD
    same "a preload of the user's own" "$T/hello"
    unset LD_PRELOAD
else
    skip "IFG_OFF, --hook" "runtimes: $(tail -n 1 "$T/fetch")"
fi
done_testing
