#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README, documents, man pages and --help state what the binary does: exit codes, options, commands,
# findings, the version of the format. Tables and columns are in e2e/query_docs.
. "$TAP_SH"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is not installed"
agree() { python3 "$SOURCE_DIR/tests/docs/agree.py" "$1" "$INFEROGRAM" "${2:-$SOURCE_DIR}"; }

agree list >"$T/checks"
while read -r check about; do
    ok "$about" agree "$check"
done <"$T/checks"

# Each check fails when a document says something else.
cp -r "$SOURCE_DIR/README.md" "$SOURCE_DIR/docs" "$SOURCE_DIR/man" "$T"
catches() { # CHECK FILE SED
    sed -i "$3" "$T/$2"
    exits "$1 catches: $3 in $2" 1 agree "$1" "$T"
    cp "$SOURCE_DIR/$2" "$T/$2"
}
catches exits man/inferogram-stats.1.scd 's/^\*2\*$/*5*/'
catches exits README.md 's/^3 inconclusive, //'
catches options docs/bench.md 's/--threads/--treads/'
catches names docs/diff.md 's/inferogram diff/inferogram differ/'
catches version man/inferogram-trace.5.scd 's/(now 1/(now 7/'
catches version docs/trace-format.md '1s/$/1/'
catches findings docs/findings.md 's/^## spinning$/## spining/'
catches glossary docs/glossary.md 's/\*\*operator\*\*/operator/'

done_testing
