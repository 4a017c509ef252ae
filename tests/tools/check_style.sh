#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/check-style must catch a bad file of each kind, and leave good ones alone.
. "$TAP_SH"
check=$SOURCE_DIR/tools/check-style
spdx='SPDX-License-Identifier: Apache-2.0'

# put FILE LINE...: writes a file of the tree under test
put() {
    rm -rf "$T/tree"
    mkdir -p "$T/tree/$(dirname "$1")"
    file=$T/tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# c_file FILE LINE...: a C file with a proper head; the first line given is line 3
c_file() {
    path=$1
    shift
    put "$path" "// $spdx" "/* What it is for. */" "$@"
}

caught() {
    exits "$1" 1 "$check" --root "$T/tree"
    matches "$1: says where and why" "$(cat "$T/stdout")" "$2"
}

fine() { exits "$1" 0 "$check" --root "$T/tree"; }

for name in strcpy strcat sprintf strtok atoi sscanf gets alloca; do
    c_file tests/x.c "int x = $name(y);"
    caught "banned $name" "^tests/x.c:3: $name "
done
for name in malloc calloc realloc free; do
    c_file src/trace/x.c "" "void *x = $name(1);"
    caught "raw $name" "^src/trace/x.c:4: $name: memory"
done
c_file src/record/x.c 'void f(void) { exit(1); }'
caught "exit in a library room" '^src/record/x.c:3: exit'
c_file src/record/x.c 'void f(void) { abort(); }'
caught "abort in a library room" '^src/record/x.c:3: abort'
c_file src/trace/x.c 'void f(void) { printf("x"); }'
caught "printf in a library room" '^src/trace/x.c:3: printf'
c_file src/trace/x.c 'void f(void) { fputs("x", stdout); }'
caught "stdout in a library room" '^src/trace/x.c:3: stdout'
c_file src/client/x.c 'void f(void) { fprintf(stderr, "x"); }'
caught "printing in the watched process" 'does not print'
for mark in TO-DO FIX-ME XX-X; do
    mark=$(echo "$mark" | tr -d -)
    c_file src/trace/x.c "/* $mark: later */"
    caught "mark $mark" "^src/trace/x.c:3: $mark"
done

c_file src/trace/x.c 'size_t more = list->room ? list->room * 2 : 16;'
caught "an array of one's own" '^src/trace/x.c:3: .*base/array.h'
c_file src/trace/x.c 'size_t more = *room ? 2 * *room : 16;'
caught "an array of one's own, through a pointer" '^src/trace/x.c:3: .*base/array.h'
c_file src/trace/x.c 'say("out of memory");'
caught "words of one's own" '^src/trace/x.c:3: .*ifg_fail_no_memory'
c_file src/record/x.c 'fopen("/proc/self/maps", "re");'
caught "a reader of maps of one's own" '^src/record/x.c:3: .*system/maps.h'
c_file src/hooks/x.c 'fopen("/proc/self/maps", "re");'
fine "a reader of maps in the watched process"

put src/trace/x.c '/* What it is for. */'
caught "no licence in C" '^src/trace/x.c:1: .*SPDX'
put tools/x '#!/bin/sh' 'true'
caught "no licence in a script" '^tools/x:2: .*SPDX'
put tools/x.py 'pass'
caught "no licence in Python" '^tools/x.py:1: .*SPDX'
put src/trace/x.h "// $spdx" '#ifndef X'
caught "no role comment" '^src/trace/x.h:2: .*what this file is for'

c_file src/trace/x.c "int x; /* $(printf '%0100d' 0) */"
caught "a long line" '^src/trace/x.c:3: 113 columns'
c_file src/trace/x.c "$(printf '\tint x;')"
caught "a tab" '^src/trace/x.c:3: tab'
c_file src/trace/x.c "$(yes 'int x;' | head -n 899)"
caught "a long file" '^src/trace/x.c:901: 901 lines'
c_file src/trace/x.c 'int f(void)' '{' "$(yes '    x();' | head -n 101)" '}'
caught "a long function" '^src/trace/x.c:4: function of 101 lines'
for folder in work root home; do
    put docs/x.md 'See' "/$folder/main for more."
    caught "a path of one machine: $folder" '^docs/x.md:2: '
done

c_file src/base/alloc.c 'void *x = malloc(1);'
fine "the allocator may allocate"
c_file src/trace/x_test.c 'int main(void) { free(malloc(1)); printf("x"); exit(0); }'
fine "a test may allocate, print and exit"
c_file src/cli/x.c 'void f(void) { printf("x"); exit(1); }'
fine "cli may print and exit"
c_file src/trace/x.c '/* free(x), exit(1) */' 'const char *s = "printf(malloc(1))";'
fine "comments and strings are not calls"
c_file src/trace/x.c 'void f(struct v *v) { v->free(v); v->ops.exit(1); ifg_free(v); _exit(1); }'
fine "members and longer names are not the banned calls"
c_file src/trace/x.c 'int f(void)' '{' "$(yes '    x();' | head -n 100)" '}' \
    'struct t x[] = {' "$(yes '    { 1 },' | head -n 200)" '};'
fine "100 lines of function, more of table"
put docs/x.md 'Lives in ~/work/x, src/home/y and https://example.org/home/.'
fine "paths that are not of one machine"

c_file src/trace/x.c 'void f(void) { exit(1); }'
exits "TAP: failure" 1 "$check" --tap --root "$T/tree"
matches "TAP: not ok" "$(cat "$T/stdout")" '^not ok 1 - no banned calls'

done_testing
