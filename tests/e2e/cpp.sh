#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the package offers to C and C++ programs: inferogram.hpp with two compilers, compiled away, and found by CMake and by
# pkg-config in a tree that was moved.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
[ -n "${CXX:-}" ] || skip_all "tools: no C++ compiler"
command -v meson >/dev/null || skip_all "tools: meson is not installed"
cd "$T" || exit 99
source=$SOURCE_DIR/tests/programs/cpp_zones.cpp
strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'

rows() { "$INFEROGRAM" query "$1" --csv "$2" | tr -d '\r' | sed 1d | tr '\n' ' ' | sed 's/ $//'; }

for compiler in g++ clang++; do
    if ! command -v "$compiler" >/dev/null; then
        skip "$compiler" "tools: $compiler is not installed"
        continue
    fi
    for standard in c++17 c++20; do
        # shellcheck disable=SC2086 # a list of words
        ok "$compiler, $standard" "$compiler" -std=$standard $strict -fsyntax-only -I "$SOURCE_DIR/include" "$source"
    done
    # shellcheck disable=SC2086 # a list of words
    ok "$compiler, IFG_DISABLE, without the library" "$compiler" -std=c++17 $strict -DIFG_DISABLE -O2 \
        -I "$SOURCE_DIR/include" -c -o off.o -x c++ - <<'CPP'
#include <inferogram/inferogram.hpp>
int twice(int x, const inferogram::model &model);
int twice(int x, const inferogram::model &model)
{
    inferogram::zone zone{"twice"};
    inferogram::event event{model, IFG_INFERENCE};
    inferogram::counter("x", x);
    zone.value(static_cast<unsigned>(x)).detail("x", x);
    return 2 * x;
}
CPP
    is "$compiler: nothing is left of it" "$(nm -u off.o | grep -i ifg)$(nm off.o | grep -ci 'inferogram.*zone')" 0
done

# ---- a tree that was moved ----

ok "an installation" env DESTDIR="$T/root" meson install -C "$BUILD_DIR" --no-rebuild --quiet
prefix=$(dirname "$(dirname "$(find "$T/root" -path '*/bin/inferogram')")")
mv "$prefix" moved
prefix=$T/moved
libdir=$(dirname "$(find "$prefix" -name libinferogram.so)")
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
tell() { # TRACE: what the program is known to do
    is "$1: zones" "$(rows "$1" "SELECT name || '=' || count(*) FROM slice WHERE kind <> 'ml' GROUP BY name ORDER BY name")" "$zones"
}
zones="consume=1 early=1 kept=5 pre=1 produce=1 recursive=5 throws=3 work here=10"

if command -v cmake >/dev/null; then
    mkdir consumer
    cat >consumer/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(consumer C CXX)
find_package(Inferogram 0.1 REQUIRED COMPONENTS inferogram handles)
find_package(Threads REQUIRED)
set(CMAKE_CXX_STANDARD 17)
add_executable(consumer $source)
target_link_libraries(consumer Inferogram::inferogram Threads::Threads)
file(WRITE plain.c "#include <inferogram/handles.h>\nint main(void) { IFG_ZONE(\"plain\"); return 0; }\n")
add_executable(plain plain.c)
target_link_libraries(plain Inferogram::handles)
CMAKE
    cp consumer/CMakeLists.txt lists
    ok "CMake finds it" cmake -S consumer -B cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
    ok "and builds with it" cmake --build cmake
    exits "the program runs, recorded" 0 "$INFEROGRAM" record -o cmake.ifg -- cmake/consumer
    tell cmake.ifg
    exits "one in C, too" 0 "$INFEROGRAM" record -o plain.ifg -- cmake/plain
    is "its zone" "$(rows plain.ifg "SELECT name FROM slice")" plain
    for version in 0.2 0.1.99 1.0; do
        sed "s/Inferogram 0.1 /Inferogram $version /" lists >consumer/CMakeLists.txt
        rm -rf cmake-other
        exits "version $version is refused" 1 cmake -S consumer -B cmake-other -DCMAKE_PREFIX_PATH="$prefix"
    done
    sed "s/COMPONENTS inferogram handles/COMPONENTS python/" lists >consumer/CMakeLists.txt
    rm -rf cmake-other
    exits "a component that does not exist is refused" 1 cmake -S consumer -B cmake-other -DCMAKE_PREFIX_PATH="$prefix"
    contains "with those that do" "$(tr -s ' \n' ' ' <stderr)" "there is no component python; there are inferogram and handles"
else
    skip "CMake" "tools: cmake is not installed"
fi

if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$libdir/pkgconfig
    export PKG_CONFIG_PATH
    flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs inferogram)
    contains "pkg-config finds it" "$flags" "-L$libdir"
    # shellcheck disable=SC2086 # a list of words
    ok "a program with its flags" $CXX -std=c++17 -o by-flags "$source" $flags -pthread
    exits "runs, recorded" 0 "$INFEROGRAM" record -o flags.ifg -- ./by-flags
    tell flags.ifg
    is "events of the model" "$(rows flags.ifg "SELECT category || '=' || count(*) FROM ml_event GROUP BY category ORDER BY category")" "inference=4 load=1"
    is "counters, messages, flows, spans" "$(rows flags.ifg "SELECT (SELECT count(*) FROM counter WHERE name = 'depth'), (SELECT count(*) FROM message),
        (SELECT count(*) FROM flow), (SELECT count(*) FROM async_span)")" "6,1,1,1"
else
    skip "pkg-config" "tools: pkg-config is not installed"
fi
exits "what is not recorded runs as well" 0 sh -c 'if [ -e by-flags ]; then ./by-flags; else cmake/consumer; fi'
done_testing
