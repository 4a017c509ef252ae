#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions found by reading a library are where the loaded library has them: every function of real ONNX
# Runtimes, of made ones as different linkers write them, and exported functions of the C library.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

offsets() { "$PROGRAMS/ort_offsets" "$@"; }

# compare NAME LIBRARY EXPECTED: version, count and method; then every offset, both ways.
compare() {
    if offsets static "$2" >"$T/static" 2>"$T/facts"; then
        is "$1: version, functions, method" "$(cut -d ' ' -f 1-3 "$T/facts")" "$3"
    else
        fail "$1: version, functions, method" "$(cat "$T/facts")"
    fi
    if ! offsets live "$2" >"$T/live" 2>"$T/err"; then
        fail "$1: can be loaded" "$(cat "$T/err")"
    elif cmp -s "$T/static" "$T/live"; then
        pass "$1: all $(wc -l <"$T/live") functions are where the loaded library has them"
    else
        fail "$1: all functions are where the loaded library has them" "$(diff "$T/static" "$T/live" | head -n 10)"
    fi
}

# ---- real libraries ----

for expected in "1.14.0 239" "1.17.0 276" "1.20.1 285" "1.24.3 415" "1.25.1 419" "1.30.0 425"; do
    version=${expected% *}
    if have "ort-node-$version"; then
        compare "npm $version" "$(ort "$version")" "$expected decoded"
        is "npm $version: probes stand after endbr64" "$(cut -d ' ' -f 5 "$T/facts")" "${expected#* }"
        time_us=$(offsets time "$(ort "$version")")
        note "npm $version: $time_us us"
        # Generous: a busy machine and a sanitizer.
        if [ "$time_us" -lt 200000 ]; then pass "npm $version: quick"; else fail "npm $version: quick" "$time_us us"; fi
    else
        skip "npm $version" "runtimes: $(tail -n 1 "$T/fetch")"
    fi
done

# Where its code says nothing, the length of the table does.
if have ort-node-1.20.1; then
    offsets static "$(ort 1.20.1)" >"$T/static" 2>"$T/facts"
    cp "$(ort 1.20.1)" "$T/patched.so"
    python3 - "$T/patched.so" "$(offsets exported "$T/patched.so" OrtGetApiBase)" <<'EOP'
import sys
with open(sys.argv[1], 'r+b') as library:
    library.seek(int(sys.argv[2].split()[1], 16) + 4)
    library.write(b'\x90' * 7)
EOP
    ok "an OrtGetApiBase that loads nothing" offsets static "$T/patched.so"
    is "found by its length" "$(cut -d ' ' -f 1-3 "$T/stderr")" "1.20.1 285 only-run"
    cp "$T/stdout" "$T/by-length"
    ok "the same functions" cmp "$T/static" "$T/by-length"
    rm "$T/patched.so"
else
    skip "an OrtGetApiBase that loads nothing" "runtimes: $(tail -n 1 "$T/fetch")"
fi

if have python-1.20.1; then
    wheel=$(find "$(cached python-1.20.1)" -name 'libonnxruntime.so.1.20.1' | head -n 1)
    compare "the library in the wheel 1.20.1" "$wheel" "1.20.1 285 decoded"
    inside=$(find "$(cached python-1.20.1)" -name 'onnxruntime_pybind11_state*.so' | head -n 1)
    exits "the module of the wheel has no table" 1 offsets static "$inside"
    contains "and is told apart" "$(cat "$T/stderr")" "is no ONNX Runtime"
else
    skip "the wheel 1.20.1" "runtimes: $(tail -n 1 "$T/fetch")"
fi
if have python-1.31.1; then
    wheel=$(find "$(cached python-1.31.1)" -name 'libonnxruntime.so.1.31.1' | head -n 1)
    compare "the library in the wheel 1.31.1" "$wheel" "1.31.1 425 decoded"
else
    skip "the wheel 1.31.1" "runtimes: $(tail -n 1 "$T/fetch")"
fi

# Another machine's library cannot be loaded here; each function must at least begin like one.
begins_like_aarch64() {
    python3 - "$1" "$2" <<'EOP'
import struct, sys
data = open(sys.argv[1], 'rb').read()
bad, count = [], 0
for line in open(sys.argv[2]):
    slot, offset = line.split()
    word, before = struct.unpack_from('<I', data, int(offset, 16))[0], struct.unpack_from('<I', data, int(offset, 16) - 4)[0]
    # What comes before a function: a return, a jump, a nop or another end of the one before.
    ends = (before in (0xd65f03c0, 0xd503201f, 0) or before >> 26 in (0x05, 0x25)  # ret, nop, padding, b, bl
            or before & 0xfffffc1f == 0xd61f0000 or before & 0xffe0001f == 0xd4200000)  # br, brk
    if not ends or word == 0:
        bad.append(f'{slot}: {before:08x} {word:08x}')
    count += 1
print(count - len(bad), *bad[:5])
EOP
}
if have ort-node-1.30.0 && library=$(find "$(cached ort-node-1.30.0)/" -path '*/arm64/libonnxruntime.so*' | head -n 1) &&
    [ -n "$library" ]; then
    ok "arm64 1.30.0: a table" offsets static "$library"
    is "arm64 1.30.0: version, functions, method" "$(cut -d ' ' -f 1-3 "$T/stderr")" "1.30.0 425 decoded"
    cp "$T/stdout" "$T/arm64"
    is "arm64 1.30.0: functions begin where the one before ends" "$(begins_like_aarch64 "$library" "$T/arm64")" 425
else
    skip "arm64 1.30.0" "not in the package"
fi

# ---- made libraries: the same source as linkers and compilers may turn it out ----

python3 - >"$T/made.c" <<'EOP'
print('#include <stdint.h>\n#include <stddef.h>')
for slot in range(285):
    print(f'static __attribute__((noinline)) int f{slot}(int x) {{ return x * {slot + 3} + {slot}; }}')
print('static int (*const table[])(int) = {', ', '.join(f'f{slot}' for slot in range(285)), '};')
print('''
struct base { const void *(*get_api)(uint32_t); const char *(*get_version)(void); };
static const void *get_api(uint32_t version) { return version >= 1 && version <= 20 ? table : NULL; }
static const char *get_version(void) { return "1.20.9"; }
BASE_LINKAGE const struct base ort_base = { get_api, get_version };
const struct base *OrtGetApiBase(void) { return &ort_base; }''')
EOP
# made NAME FLAGS...: builds it and compares, or skips where this compiler cannot.
made() {
    made_name=$1
    shift
    # shellcheck disable=SC2086 # the compiler may be two words
    if $CC -shared -fPIC -w -o "$T/made.so" "$@" "$T/made.c" 2>"$T/err"; then
        compare "$made_name" "$T/made.so" "1.20.9 285 decoded"
    else
        skip "$made_name" "this compiler cannot: $(grep -m 1 . "$T/err")"
    fi
}
printf 'VERS_1.20.9 { global: OrtGetApiBase; local: *; };\n' >"$T/script"
made "plain" -O2 -DBASE_LINKAGE=static
made "no optimization" -O0 -DBASE_LINKAGE=static
made "the base is exported, its address in the global offset table" -O2 -DBASE_LINKAGE=
made "a versioned symbol, no section headers of use" -O2 -DBASE_LINKAGE=static -s "-Wl,--version-script=$T/script"
made "no landing pads" -O2 -DBASE_LINKAGE=static -fcf-protection=none
made "the older hash table" -O2 -DBASE_LINKAGE=static -Wl,--hash-style=sysv
made "relative relocations packed" -O2 -DBASE_LINKAGE=static -Wl,-z,pack-relative-relocs
if readelf -d "$T/made.so" | grep -q '(RELR)'; then pass "they are packed"; else skip "they are packed" "this linker does not"; fi
if command -v ld.lld >/dev/null; then
    # Alone: older ones do not note that they need a libc that knows packed relocations, and libc insists.
    made "packed by another linker" -O2 -DBASE_LINKAGE=static -nostdlib -fuse-ld=lld -Wl,--pack-dyn-relocs=relr
else
    skip "packed by another linker" "tools: no ld.lld"
fi

# A program with the runtime inside, at a fixed address; it prints its own table.
printf '#include <stdio.h>\nint main(void) { for (int i = 0; i < 285; i++) printf("%%d %%p\\n", i, (void *)table[i]); }\n' >"$T/main.c"
for flags in "-O2 -no-pie -fno-pie" "-O0 -no-pie -fno-pie"; do
    # shellcheck disable=SC2086 # flags; the compiler may be two words
    if cat "$T/made.c" "$T/main.c" >"$T/inside.c" &&
        $CC $flags -w -rdynamic -DBASE_LINKAGE=static -o "$T/inside" "$T/inside.c" 2>"$T/err"; then
        ok "inside a program, $flags" offsets static "$T/inside"
        start=$(readelf -lW "$T/inside" | awk '$1 == "LOAD" { print $3; exit }')
        cp "$T/stdout" "$T/static"
        "$T/inside" | python3 -c 'import sys
for line in sys.stdin:
    slot, address = line.split()
    print(slot, hex(int(address, 16) - int(sys.argv[1], 16)))' "$start" >"$T/live"
        is "inside a program, $flags: all functions" "$(wc -l <"$T/live")" 285
        ok "inside a program, $flags: where they are" cmp "$T/static" "$T/live"
    else
        skip "inside a program, $flags" "this compiler cannot"
    fi
done

# A library that was deleted while it is in use.
# shellcheck disable=SC2086
$CC -shared -fPIC -w -O2 -DBASE_LINKAGE=static -o "$T/gone.so" "$T/made.c" || exit 99
exec 7<"$T/gone.so"
offsets static "$T/gone.so" >"$T/before" 2>"$T/facts"
matches "build-id" "$(cut -d ' ' -f 4 "$T/facts")" '^([0-9a-f]{40})?$'
is "build-id: as readelf says" "$(cut -d ' ' -f 4 "$T/facts")" "$(readelf -n "$T/gone.so" | sed -n 's/.*Build ID: //p')"
rm "$T/gone.so"
ok "a deleted library" offsets static /proc/self/fd/7
cp "$T/stdout" "$T/after"
is "a deleted library: all functions" "$(wc -l <"$T/after")" 285
ok "a deleted library: the same functions" cmp "$T/before" "$T/after"
exec 7<&-

# Cut anywhere, it is an error and nothing else.
# shellcheck disable=SC2086
$CC -shared -fPIC -w -O2 -DBASE_LINKAGE=static -o "$T/cut.so" "$T/made.c" || exit 99
size=$(wc -c <"$T/cut.so")
crashed=0
part=0
while [ "$part" -lt 40 ]; do
    head -c $((size * part / 40)) "$T/cut.so" >"$T/part.so"
    status=0
    offsets static "$T/part.so" >"$T/stdout" 2>"$T/stderr" || status=$?
    [ "$status" -le 1 ] || crashed=$((crashed + 1))
    part=$((part + 1))
done
is "a file cut at 40 places" "$crashed" 0

# ---- exported functions of libraries that we know nothing about ----

libc=$(ldd /bin/sh | sed -n 's/.*=> \(.*libc\.so[^ ]*\).*/\1/p' | head -n 1)
if [ -n "$libc" ]; then
    for name in getenv qsort fopen; do
        found=$(offsets exported "$libc" "$name")
        is "libc: $name" "$found" "$(offsets dlsym "$libc" "$name")"
        matches "libc: $name, an offset" "$found" "^$name 0x[1-9a-f][0-9a-f]+\$"
    done
    exits "libc: no such function" 1 offsets exported "$libc" no_such_function
    contains "libc: no such function, said" "$(cat "$T/stderr")" "exports no function no_such_function"
    matches "libc: a pattern" "$(offsets exported "$libc" 'pthread_mutex_*lock')" '^pthread_mutex_(un|try)?lock 0x'
else
    skip "libc" "its path is not known"
fi
done_testing
