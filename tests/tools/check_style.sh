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
c_file src/trace/x.c 'items = ifg_realloc(items, count + 1, sizeof *items);'
caught "an array that grows by one" '^src/trace/x.c:3: .*base/array.h'
c_file src/trace/x.c 'at = (at + 1) & (size - 1);'
caught "a table of one's own" '^src/trace/x.c:3: .*base/index.h'
c_file src/trace/keys.h '#define TRACE_KEY_A "a"'
mkdir -p "$T/tree/src/hooks/python/inferogram_hook"
printf '%s\n' "# $spdx" "A = b'a'" >"$T/tree/src/hooks/python/inferogram_hook/keys.py"
fine "a name that C and Python spell alike"
put src/hooks/python/inferogram_hook/keys.py "# $spdx" "A = b'a'"
caught "a name that Python has of its own" 'keys.py:2: A is not what'
put src/hooks/python/x.py "# $spdx" "tell(model, 'a', 1)"
caught "a name spelled outside of keys.py" 'x.py:2: .*keys.py'
c_file src/trace/x.c 'say("out of memory");'
caught "words of one's own" '^src/trace/x.c:3: .*ifg_fail_no_memory'
for reader in 'fopen("/proc/self/maps", "re");' 'readlink("/proc/self/exe", out, 9);' \
    'snprintf(path, 9, "/proc/%d/task/%d/comm", pid, tid);' 'snprintf(path, 9, "%s/%u/stat", proc, pid);' \
    'openat(folder, "status", 0);'; do
    c_file src/record/x.c "$reader"
    caught "a reader of one's own: $reader" '^src/record/x.c:3: .*system/process_status.h'
done
c_file src/record/x.c 'process_link(pid, "exe", out, 9);'
fine "the reader of all"
c_file src/record/x.c 'clock_gettime(CLOCK_MONOTONIC, &now);'
caught "a clock of one's own" '^src/record/x.c:3: .*base/ticks.h'
c_file src/hooks/x.c 'fopen("/proc/self/maps", "re");'
fine "a reader of maps in the watched process"
for name in 'put("places");' 'ask("next?places=1");' 'ask("SELECT id FROM place");' 'int routine;' 'track_ghosts();' 'ifg_place_begin();'; do
    c_file src/trace/x.c "$name"
    caught "an old name: $name" '^src/trace/x.c:3: .*docs/architecture.md'
done
c_file src/trace/x.c '/* In place of a coroutine. */' 'int place;'
fine "words that are no old names"
c_file src/trace/x_internal.h 'int read_it(void);'
caught "a function that could be of any file" '^src/trace/x_internal.h:3: read_it: '
c_file src/trace/x_internal.h 'int trace_read(void);' 'int x_read(void);' 'static int read_it(void);'
fine "functions that carry their room or file"

put src/trace/x.c '/* What it is for. */'
caught "no licence in C" '^src/trace/x.c:1: .*SPDX'
put tools/x '#!/bin/sh' 'true'
caught "no licence in a script" '^tools/x:2: .*SPDX'
put tools/x.py 'pass'
caught "no licence in Python" '^tools/x.py:1: .*SPDX'
put src/trace/x.h "// $spdx" '#ifndef X'
caught "no role comment" '^src/trace/x.h:2: .*what this file is for'
put src/trace/x.c "// $spdx" '/* See x.h. */' 'int x;'
caught "a role comment without a role" '^src/trace/x.c:2: .*what this file is for'
c_file src/record/x.c 'say("ONNX Runtime is there");'
caught "the name of a runtime" '^src/record/x.c:3: .*src/runtimes'
c_file src/record/sources/ort_x.c 'say("ONNX Runtime is there");' '/* As llama.cpp does. */'
fine "the name of a runtime in its own file, or in a comment"

c_file src/trace/x.c "int x; /* $(printf '%0100d' 0) */"
caught "a long line" '^src/trace/x.c:3: 113 columns'
c_file src/trace/x.c "$(printf '\tint x;')"
caught "a tab" '^src/trace/x.c:3: tab'
c_file src/trace/x.c "$(yes 'int x;' | head -n 799)"
caught "a long file" '^src/trace/x.c:801: 801 lines'
c_file src/trace/x.c 'int f(void)' '{' "$(yes '    x();' | head -n 71)" '}'
caught "a long function" '^src/trace/x.c:4: function of 71 lines'
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
c_file src/trace/x.c 'int f(void)' '{' "$(yes '    x();' | head -n 70)" '}' \
    'struct t x[] = {' "$(yes '    { 1 },' | head -n 200)" '};'
fine "70 lines of function, more of table"
put docs/x.md 'Lives in ~/work/x, src/home/y and https://example.org/home/.'
fine "paths that are not of one machine"

c_file src/trace/x.c 'void f(void) { exit(1); }'
exits "TAP: failure" 1 "$check" --tap --root "$T/tree"
matches "TAP: not ok" "$(cat "$T/stdout")" '^not ok 1 - no banned calls'

# ---- voice: every phrase of the lists, in documents, in comments where it counts, across lines ----
for phrase in 'measured in turns' 'in loops that wait for work' 'who woke whom' 'from made-up files' \
    'the share that took at most so long' 'what brought it up' 'the way there is not certain' 'dear to ask' \
    'a program that nobody changed' 'it is said how many' 'they are told at the end' 'the output says so' \
    'record looks at CPUs' 'nobody needs root'; do
    put docs/x.md "A line." "Here $phrase, again."
    caught "voice: $phrase" '^docs/x.md:2: "[^"]*": write: '
done
put docs/x.md 'Models run in' 'turns here.'
caught "voice: a phrase over two lines" '^docs/x.md:1: "in turns"'
put docs/x.md 'Samples are ghost zones.'
caught "voice: a word that is not explained" 'write: sampled call stacks'
put docs/x.md 'Samples are sampled call stacks (ghost zones). Ghost zones are outlines.'
fine "voice: a word that is"
put docs/x.md 'One of the rooms.'
caught "voice: rooms outside of CONTRIBUTING" 'components, modules'
put CONTRIBUTING.md 'One of the rooms.'
fine "voice: rooms in CONTRIBUTING"
c_file src/trace/x.c 'say("what failed is "' '    "told");'
caught "voice: a message in two literals" '^src/trace/x.c:3: "is told"'
c_file src/trace/x.c '/* The reader is told where it ends. */'
fine "voice: a comment may tell"

done_testing
