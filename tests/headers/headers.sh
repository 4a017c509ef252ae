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
        skip "as $standard" "no C++ compiler"
    fi
done

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
