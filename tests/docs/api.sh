#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C in README.md and docs/api.md compiles, with the library and with IFG_DISABLE.
#
# A ```c block that includes a header is a whole file. Any other block is the inside of a function of a
# program that has the declarations below.
. "$TAP_SH"

cat >"$T/preamble" <<'EOF'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <inferogram/inferogram.h>

extern ifg_model *model;
extern uint64_t request;
extern int number;
const char *file_name(void);
int queue_length(void);
void work(void);

void snippet(void);
void snippet(void)
{
EOF

# Writes every ```c block of FILE to $T/PREFIX-LINE.c, LINE being where it begins.
extract() {
    awk -v start="$T/$2-" '
        /^```c$/ { out = start NR ".c"; printf "" >out; next }
        /^```/ { if (out) close(out); out = ""; next }
        out { print >out }' "$1"
}

compile() { # FILE EXTRA
    # shellcheck disable=SC2086 # lists of words
    $CC -x c -std=c11 -Wall -Werror -fsyntax-only $2 -I "$SOURCE_DIR/include" "$1"
}

for document in README.md docs/api.md; do
    prefix=$(basename "$document" .md)
    extract "$SOURCE_DIR/$document" "$prefix"
    found=0
    for block in "$T/$prefix"-*.c; do
        [ -f "$block" ] || continue
        found=$((found + 1))
        line=${block##*-}
        line=${line%.c}
        if ! grep -q '^#include' "$block"; then
            { cat "$T/preamble" "$block"; echo '}'; } >"$T/whole"
            mv "$T/whole" "$block"
        fi
        ok "$document:$line compiles" compile "$block" ""
        ok "$document:$line compiles with IFG_DISABLE" compile "$block" -DIFG_DISABLE
    done
    ok "$document has C in it" test "$found" -gt 0
done

done_testing
