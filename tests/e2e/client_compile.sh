#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One source, compiled as C and C++, with and without IFG_DISABLE: it works, and without us it needs nothing of us.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"

sanitized && skip_all "the library was built with a sanitizer"

library=$(dirname "$LIBINFEROGRAM")
strict='-Wall -Wextra -Wshadow -Wpedantic -Werror -pthread -O1'

build() { # LANGUAGE STANDARD SOURCE PROGRAM FLAGS...
    case $1 in c) compiler=$CC ;; *) compiler=$CXX ;; esac
    language=$1 standard=$2 source=$3 program=$4
    shift 4
    # shellcheck disable=SC2086 # lists of words
    $compiler -x "$language" -std="$standard" $strict -I "$SOURCE_DIR/include" "$source" -x none \
        -o "$program" "$@"
}

# every_function: a program that takes the address of each function that the libraries export to programs
every_function() {
    echo '#include <stdio.h>'
    echo '#include <inferogram/handles.h>'
    echo 'int main(void) { int all = 0;'
    sed -n -e "/_PRIVATE/q" -e 's/^ *\(ifg_[a-z_]*\);$/\1/p' "$SOURCE_DIR/src/client/libinferogram.map" |
        grep -v '_word$' >"$T/names"
    sed -n -e "/_PRIVATE/q" -e 's/^ *\(ifg_[a-z_]*\);$/\1/p' "$SOURCE_DIR/src/handles/libinferogram-handles.map" >>"$T/names"
    sed 's/.*/all += \&& != 0;/' "$T/names"
    echo 'printf("%d", all); return 0; }'
}
every_function >"$T/every.c"
functions=$(grep -c '^all' "$T/every.c")
handles=$BUILD_DIR/src/handles

for standard in c11 c17 c++11 c++17; do
    language=c
    case $standard in c++*)
        language=c++
        if [ -z "${CXX:-}" ]; then
            skip "$standard" "tools: no C++ compiler"
            continue
        fi
        ;;
    esac
    source=$SOURCE_DIR/tests/programs/client_api.c
    ok "$standard" build $language $standard "$source" "$T/on" "$LIBINFEROGRAM" -Wl,-rpath,"$library"
    record "$T/on"
    is "$standard: recorded" "$status $output" "0 recording 1, evaluated 3"
    counts "$standard: counts" zones 21 ml 6 messages 5 counters 3 frames 2 dropped 0 bad 0
    ok "$standard, IFG_DISABLE" build $language $standard "$source" "$T/off" -DIFG_DISABLE
    is "$standard, IFG_DISABLE: does the same work" "$("$T/off")" "recording 0, evaluated 0"
    is "$standard, IFG_DISABLE: no symbol of ours" "$(nm "$T/off" | grep -c ' [A-TV-Z] ifg_\| U ifg_')" 0
    ok "$standard, IFG_DISABLE: every function of the library" \
        build $language $standard "$T/every.c" "$T/every" -DIFG_DISABLE -Wno-address
    is "$standard, IFG_DISABLE: all of them" "$("$T/every")" "$functions"
done
ok "the libraries have every function" build c c17 "$T/every.c" "$T/every" "$LIBINFEROGRAM" "$handles/libinferogram-handles.so" \
    -Wno-address -Wl,-rpath,"$library:$handles"
is "the libraries have all of them" "$("$T/every") of $functions" \
    "$functions of $(nm -D --defined-only "$LIBINFEROGRAM" "$handles/libinferogram-handles.so" | grep ' T ifg_' | grep -vc _PRIVATE)"

if [ -n "${CXX:-}" ]; then
    ok "C++: exceptions" build c++ c++17 "$SOURCE_DIR/tests/programs/client_cxx.cpp" "$T/cxx" \
        "$LIBINFEROGRAM" -Wl,-rpath,"$library"
    record "$T/cxx"
    is "C++: the program ran" "$status $output" "0 42 1.0"
    sound "C++"
    dump
    is "C++: unwinding ends zones" "$(lines '^zone .*name=unwound in=unwound$')" 40
    is "C++: and in the right place" "$(lines '^zone .*name=unwound in=outer$')" 10
    is "C++: the handler is inside" "$(lines '^zone .*name=caught in=outer$')" 10
    is "C++: nothing unbalanced" "$(lost 'came twice')" 0
    is "C++: a lambda on a thread" "$(lines '^zone .*name=lambda in=-$')" 1
    is "C++: thread_local destructor" "$(lines '^zone .*name=thread_local destructor in=-$')" 1
    is "C++: each instance of a template" "$(lines '^zone .*name=template in=-$')" 2
    is "C++: static destructor" "$(lines '^zone .*name=static destructor in=-$')" 1
    ok "C++, IFG_DISABLE" build c++ c++17 "$SOURCE_DIR/tests/programs/client_cxx.cpp" "$T/cxx_off" \
        -DIFG_DISABLE
    is "C++, IFG_DISABLE: runs" "$("$T/cxx_off")" "42 1.0"
    is "C++, IFG_DISABLE: no symbol of ours" "$(nm "$T/cxx_off" | grep -c ' [A-TV-Z] ifg_\| U ifg_')" 0
else
    skip "C++" "tools: no C++ compiler"
fi

# A program with more rights than its user: our variables must not reach it.
if [ "$(id -u)" -ne 0 ]; then
    skip "AT_SECURE" "root: needs root to make a set-user-id program"
else
    build c gnu17 "$SOURCE_DIR/tests/programs/client_world.c" "$T/secure" -D_GNU_SOURCE "$LIBINFEROGRAM" \
        -Wl,-rpath,"$library"
    chown 65534 "$T/secure"
    chmod 4755 "$T/secure"
    chmod 755 "$T"
    secure=$(IFG_SESSION="$$::$T" IFG_DEBUG=1 IFG_WAIT=1 "$T/secure" secure 2>"$T/secure.err")
    case $secure in
    secure*)
        is "AT_SECURE: the program runs" "$secure" "secure 10"
        is "AT_SECURE: the environment is not heard" "$(cat "$T/secure.err")" ""
        ;;
    *) skip "AT_SECURE" "not possible here: $secure $(head -n 1 "$T/secure.err")" ;;
    esac
fi
done_testing
