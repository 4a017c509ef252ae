#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/check-layers must catch each kind of forbidden include, and nothing else.
. "$TAP_SH"
check=$SOURCE_DIR/tools/check-layers

# put FILE LINE...: writes a file of the tree under test
put() {
    mkdir -p "$T/tree/$(dirname "$1")"
    file=$T/tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# caught NAME FILE LINE PATTERN: the file with this include is refused with this message
caught() {
    rm -rf "$T/tree"
    put "$2" "// first" "$3"
    exits "$1" 1 "$check" --root "$T/tree"
    matches "$1: says where and why" "$(cat "$T/stdout")" "^$2:2: .*$4"
}

allowed() {
    rm -rf "$T/tree"
    put "$2" "$3"
    exits "$1" 0 "$check" --root "$T/tree"
}

rm -rf "$T/tree"
put docs/architecture.md "# Architecture"
exits "a document without the table of rooms" 1 "$check" --root "$T/tree"
matches "a document without the table of rooms: says which" "$(cat "$T/stdout")" '^docs/architecture.md:1: .*--rooms'
"$check" --root "$T/tree" --rooms >"$T/rooms"
mkdir -p "$T/tree/docs" && { echo "# Architecture" && cat "$T/rooms"; } >"$T/tree/docs/architecture.md"
exits "a document with the table of rooms" 0 "$check" --root "$T/tree"

caught "trace reaches up" src/trace/x.c '#include "record/record.h"' 'trace may not include record'
caught "base includes a room" src/base/x.h '#include "trace/format.h"' 'base may not include'
caught "watched process uses base" src/client/x.c '#include "base/alloc.h"' 'watched process'
caught "nobody includes cli" src/server/x.c '#include "cli/options.h"' 'server may not'
caught "cli uses the client's inside" src/cli/x.c '#include "client/ring.h"' 'cli may not'
caught "another room's inside" src/record/x.c '#include "trace/trace_internal.h"' 'only inside trace'
caught "inside from tests" tests/x.c '#include "trace/trace_internal.h"' 'only inside trace'
caught "a path with dots" src/trace/x.c '#include "../base/alloc.h"' '"\.\."'
caught "the writer for the timeline" src/timeline/x.c '#include "trace/writer.h"' 'timeline may not'
caught "public header from trace" src/trace/x.c '#include <inferogram/inferogram.h>' 'trace may not'
caught "public header uses src" include/inferogram/x.h '#include "wire/wire.h"' 'nothing from src'
caught "an open header that opens another" src/trace/keys.h '#include "trace/format.h"' 'includes nothing'
caught "an unknown room" src/utils/x.c '#include "trace/format.h"' 'utils is not in the table'

allowed "base is open" src/trace/x.c '#include "base/alloc.h"'
allowed "texts in the watched process" src/hooks/x.c '#include "trace/keys.h"'
allowed "and for those who read them" src/export/x.c '#include "trace/keys.h"'
allowed "own inside" src/trace/x.c '#include "trace/trace_internal.h"'
allowed "ticks in the watched process" src/client/x.c '#include "base/ticks.h"'
allowed "client and the public header" src/client/x.c '#include <inferogram/inferogram.h>'
allowed "the reader for the timeline" src/timeline/x.c '#include "trace/reader.h"'
allowed "tests include any room" src/base/x_test.c '#include "trace/writer.h"'
allowed "system headers" src/client/x.c '#include <sys/mman.h>'

rm -rf "$T/tree"
put src/trace/x.c '#include "cli/options.h"'
exits "TAP: failure" 1 "$check" --tap --root "$T/tree"
matches "TAP: not ok" "$(cat "$T/stdout")" '^not ok 1 '

done_testing
