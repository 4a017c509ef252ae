#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The installed headers: clean in every language mode, and the same macros on and off.
. "$TAP_SH"

header=$SOURCE_DIR/include/inferogram/inferogram.h
strict='-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only'

compile() { # LANGUAGE STANDARD EXTRA [FILE]
    case $1 in c) compiler=$CC ;; *) compiler=$CXX ;; esac
    # shellcheck disable=SC2086 # lists of words
    $compiler -x "$1" -std="$2" $strict $3 -I "$SOURCE_DIR/include" "$SOURCE_DIR/tests/headers/${4:-usage.c}"
}

for standard in c11 c17 gnu17; do
    ok "as $standard" compile c "$standard" ""
    ok "as $standard, IFG_DISABLE" compile c "$standard" -DIFG_DISABLE
    ok "a runtime as $standard" compile c "$standard" "" bench_runtime.c
done
for standard in c++11 c++17 c++20; do
    if [ -n "${CXX:-}" ]; then
        ok "as $standard" compile c++ "$standard" ""
        ok "as $standard, IFG_DISABLE" compile c++ "$standard" -DIFG_DISABLE
        ok "a runtime as $standard" compile c++ "$standard" "" bench_runtime.c
    else
        skip "as $standard" "tools: no C++ compiler"
    fi
done

# Every header alone, whatever its user has included before.
for file in "$SOURCE_DIR"/include/inferogram/*.h; do
    name=${file##*/}
    echo "#include <inferogram/$name>" >"$T/alone.c"
    for extra in "" -DIFG_DISABLE; do
        # shellcheck disable=SC2086 # lists of words
        ok "$name alone $extra" $CC -x c -std=c11 $strict $extra -I "$SOURCE_DIR/include" "$T/alone.c"
        if [ -n "${CXX:-}" ]; then
            # shellcheck disable=SC2086 # lists of words
            ok "$name alone in C++ $extra" $CXX -x c++ -std=c++11 $strict $extra -I "$SOURCE_DIR/include" "$T/alone.c"
        else
            skip "$name alone in C++ $extra" "tools: no C++ compiler"
        fi
    done
done

for extra in "" -DIFG_DISABLE; do
    if [ -n "${CXX:-}" ]; then
        echo "#include <inferogram/inferogram.hpp>" >"$T/alone.cpp"
        # shellcheck disable=SC2086 # lists of words
        ok "inferogram.hpp alone $extra" $CXX -std=c++17 $strict $extra -I "$SOURCE_DIR/include" "$T/alone.cpp"
    else
        skip "inferogram.hpp alone $extra" "tools: no C++ compiler"
    fi
done

# The names that IREE's tracing.h expects of a provider: IREE 3.12.0.dev, commit b48a595 of 2026-08-21. A later IREE that
# has more would not compile with us.
provider_macros() {
    $1 -dM -E -I "$SOURCE_DIR/include" -DIREE_TRACING_MODE=4 '-DIREE_TRACING_PROVIDER_H="inferogram/iree_tracing.h"' \
        "$SOURCE_DIR/tests/programs/iree_program.c" |
        sed -n 's/^#define \(IREE_[A-Z0-9_]*\).*/\1/p' |
        grep -v -e '^IREE_STAND_IN_H$' -e '^IREE_TRACING_[FMP][A-Z]*_' -e '^IREE_TRACING_MODE$' \
            -e '^IREE_RETURN_AND_EVAL_IF_ERROR$' | LC_ALL=C sort
}
if [ -n "${CXX:-}" ]; then
    provider_macros "$CXX -x c++" >"$T/provided"
    ok "every name that IREE expects of a provider" diff "$SOURCE_DIR/tests/headers/iree_macros.txt" "$T/provided"
fi

# The public macros of the header with EXTRA; those with IFG_I_ in front are its own business.
macros() {
    # shellcheck disable=SC2086 # lists of words
    $CC -dM -E $1 "$header" | sed -n 's/^#define \(IFG_[A-Z0-9_]*\).*/\1/p' |
        grep -v -e '^IFG_I_' -e '^IFG_DISABLE$' | sort
}
macros "" >"$T/on"
macros -DIFG_DISABLE >"$T/off"
ok "there are macros" grep -qx IFG_ZONE "$T/on"
ok "the same macros on and off" diff "$T/on" "$T/off"

done_testing
