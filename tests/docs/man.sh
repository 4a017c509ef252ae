#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command has a man page, and every option of its table is in that page, and back.
. "$TAP_SH"

man=$SOURCE_DIR/man

# The options of a command by its table, long ones and letters.
table_options() {
    awk -F '\t' -v command="$1" '$1 == command { print $2; if ($3 != "-") print $3 }' "$T/list" | sort -u
}

# The options that a page describes: lines under OPTIONS that begin with *-.
page_options() {
    sed -n '/^# OPTIONS/,/^# [^O]/p' "$1" | grep '^\*-' | grep -oE '\*--?[a-z][a-z-]*\*' | tr -d '*' | sort -u
}

"$INFEROGRAM" --help >"$T/help"
"$INFEROGRAM" --list-options >"$T/list"
# The table of commands is the first block of lines that begin with two blanks.
sed -n '/^  [a-z]/,/^$/p' "$T/help" | sed -n '/^$/q; s/^  \([a-z]*\) .*/\1/p' >"$T/commands"
ok "there are commands" grep -qx record "$T/commands"

while read -r command; do
    page=$man/inferogram-$command.1.scd
    if [ ! -f "$page" ]; then
        fail "$command has a man page" "man/inferogram-$command.1.scd is missing"
        continue
    fi
    table_options "$command" >"$T/from_table"
    page_options "$page" >"$T/from_page"
    ok "$command: there are options" test -s "$T/from_table"
    ok "$command: the same options in its table and in the page" diff "$T/from_table" "$T/from_page"
    ok "$command: the page is built" grep -q "'inferogram-$command.1'" "$man/meson.build"
done <"$T/commands"

sed -n '/^# COMMANDS/,/^# O/s/^\*inferogram-\([a-z]*\)\*(1)$/\1/p' "$man/inferogram.1.scd" >"$T/page_commands"
ok "the same commands in --help and in inferogram(1)" diff "$T/commands" "$T/page_commands"
for option in $(page_options "$man/inferogram.1.scd"); do
    ok "inferogram $option works" "$INFEROGRAM" "$option"
done

# The formats of export come from one table; each has its paragraph and its section.
formats=$("$INFEROGRAM" export --help | sed -n 's/^ *--format FORMAT *//p' | tr -d ',')
ok "export has formats" test -n "$formats"
for format in $formats; do
    ok "export: $format is in its page" grep -q "^\*$format\*$" "$man/inferogram-export.1.scd"
    ok "export: $format is in docs/exports.md" grep -q "^## $format" "$SOURCE_DIR/docs/exports.md"
done

# Each public macro and function is in inferogram(3).
page=$man/inferogram.3.scd
sed -n -e 's/^#define \(IFG_[A-Z_]*\)(.*/\1/p' -e 's/^IFG_API .*\(ifg_model_[a-z]*\)(.*/\1/p' \
    "$SOURCE_DIR/include/inferogram/inferogram.h" | grep -v '^IFG_I_' | sort -u >"$T/names"
missing=
while read -r name; do
    grep -q "\*$name\*" "$page" || missing="$missing $name"
done <"$T/names"
is "every macro of the header is in inferogram(3)" "$missing" ""

render() { scdoc <"$1"; }
for page in "$man"/*.scd; do
    name=$(basename "$page" .scd)
    if command -v scdoc >/dev/null 2>&1; then
        ok "$name is good scdoc" render "$page"
    else
        skip "$name is good scdoc" "tools: scdoc is not installed"
    fi
done

done_testing
