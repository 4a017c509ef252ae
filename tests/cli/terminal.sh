#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a terminal gets and a pipe does not: lines that fit, colors, the pager; and what a pipe gets instead, whole.
# shellcheck disable=SC2154 # T comes from tap.sh, quick from bench_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"

unset NO_COLOR FORCE_COLOR CLICOLOR_FORCE PAGER LESS
TERM=xterm
INFEROGRAM_PAGER=
export TERM INFEROGRAM_PAGER
esc=$(printf '\033')

# at COLUMNS [OPTIONS OF in_terminal.py --] COMMAND...: what it writes to a terminal of that width; stderr in $T/stderr
at() {
    at_columns=$1
    shift
    python3 "$SOURCE_DIR/tests/lib/in_terminal.py" "$at_columns" --stderr "$T/stderr" "$@"
}

# fits NAME COMMAND...: no line is longer than the terminal, of two widths
fits() {
    fits_name=$1
    shift
    for columns in 80 120; do
        at "$columns" "$@" >"$T/shown" || true
        is "$fits_name fits $columns columns" \
            "$(sed "s/$esc\[[0-9;]*m//g" "$T/shown" | LC_ALL=C.UTF-8 grep -E "^.{$((columns + 1))}")" ""
        ok "$fits_name shows something at $columns columns" test -s "$T/shown"
    done
}

for kind in showcase many odd plain empty; do
    "$REPORT_TRACES" "$kind" "$T/$kind.ifg"
    fits "report of $kind" "$INFEROGRAM" report "$T/$kind.ifg"
    fits "info of $kind" "$INFEROGRAM" info "$T/$kind.ifg"
    fits "summary of $kind" "$INFEROGRAM" summary "$T/$kind.ifg"
done
for by in zone model category op thread; do
    fits "stats --by $by" "$INFEROGRAM" stats "$T/showcase.ifg" --by "$by"
done
fits "diff" "$INFEROGRAM" diff "$T/showcase.ifg" "$T/many.ifg" --all
fits "explain" "$INFEROGRAM" explain "$T/showcase.ifg"
spawn "$REC_TICKER" -s 1000000 -c 1000000 "$(printf '%0200d' 0)" >/dev/null
until "$INFEROGRAM" ls --json | grep -q "\"pid\":$spawned,"; do sleep 0.05; done
fits "ls" "$INFEROGRAM" ls
contains "ls in a pipe has whole commands" "$("$INFEROGRAM" ls)" "$(printf '%0200d' 0)"
fits "doctor" "$INFEROGRAM" doctor output attach cgroup resources
fits "bench" "$INFEROGRAM" bench -q --runtime "$BENCH_FAKE" -w 1 --processes 2 "$quick" -n 20 --threads 1,2
fits "compare" "$INFEROGRAM" compare --runtime "$BENCH_FAKE" --processes 2 --pairs 4 --pairs-max 4 "$quick" "$quick" --explain
fits "gate" "$INFEROGRAM" gate --runtime "$BENCH_FAKE" -w 1 --processes 2 -n 5 --max p50=1s --max p99=1us "$quick" --explain
fits "--help" "$INFEROGRAM" --help
for command in $("$INFEROGRAM" --list-options | cut -f 1 | sort -u); do
    fits "$command --help" "$INFEROGRAM" "$command" --help
done
at 80 "$INFEROGRAM" stats "$T/showcase.ifg" >"$T/shown"
contains "columns without room are named" "$(cat "$T/shown")" "(no room for self, sd, min, p90, p99.9; a pipe has all columns)"
contains "long names are cut" "$(cat "$T/shown")" "…"

# ---- a pipe ----
"$INFEROGRAM" stats "$T/showcase.ifg" >"$T/piped"
lacks "a pipe gets names whole" "$(cat "$T/piped")" "…"
contains "and all columns" "$(head -n 1 "$T/piped")" "p99.9"
"$REPORT_TRACES" large "$T/large.ifg" 1
is "a count is a word" "$("$INFEROGRAM" stats "$T/large.ifg" --by op | awk '$1 == "conv" { print $2 }')" 900000
contains "on a terminal it has separators" "$(at 120 "$INFEROGRAM" stats "$T/large.ifg" --by op)" "900 000"

# ---- colors ----
painted() { case $("$@") in *"$esc"*) echo yes ;; *) echo no ;; esac; }
is "a pipe has no colors" "$(painted "$INFEROGRAM" report "$T/showcase.ifg")" no
is "a terminal has" "$(painted at 80 "$INFEROGRAM" report "$T/showcase.ifg")" yes
is "but not with NO_COLOR" "$(NO_COLOR=1 painted at 80 "$INFEROGRAM" report "$T/showcase.ifg")" no
is "an empty NO_COLOR is none" "$(NO_COLOR='' painted at 80 "$INFEROGRAM" report "$T/showcase.ifg")" yes
is "nor a dumb one" "$(TERM=dumb painted at 80 "$INFEROGRAM" report "$T/showcase.ifg")" no
is "--color=never" "$(painted at 80 "$INFEROGRAM" report "$T/showcase.ifg" --color=never)" no
is "--color=always" "$(painted "$INFEROGRAM" report "$T/showcase.ifg" --color=always)" yes
is "--color beats NO_COLOR" "$(NO_COLOR=1 painted "$INFEROGRAM" report "$T/showcase.ifg" --color=always)" yes
is "--color=auto" "$(painted "$INFEROGRAM" report "$T/showcase.ifg" --color=auto)" no
is "FORCE_COLOR" "$(FORCE_COLOR=1 painted "$INFEROGRAM" report "$T/showcase.ifg")" yes
is "FORCE_COLOR=0" "$(FORCE_COLOR=0 painted "$INFEROGRAM" report "$T/showcase.ifg")" no
is "CLICOLOR_FORCE" "$(CLICOLOR_FORCE=1 painted "$INFEROGRAM" report "$T/showcase.ifg")" yes
is "NO_COLOR beats FORCE_COLOR" "$(NO_COLOR=1 FORCE_COLOR=1 painted "$INFEROGRAM" report "$T/showcase.ifg")" no
exits "--color=alwys" 2 "$INFEROGRAM" report "$T/showcase.ifg" --color=alwys
contains "is told what was meant" "$(cat "$T/stderr")" "--color is auto, always or never, not 'alwys' (did you mean 'always'?);"

# ---- the pager ----
INFEROGRAM_PAGER='sed "s/^/paged: /"'
contains "long output is paged" "$(at 80 --rows 20 "$INFEROGRAM" report "$T/showcase.ifg")" "paged: Models"
lacks "short output is not" "$(at 80 --rows 200 "$INFEROGRAM" report "$T/showcase.ifg")" "paged:"
lacks "nor is a pipe" "$("$INFEROGRAM" report "$T/showcase.ifg")" "paged:"
lacks "nor with --no-pager" "$(at 80 --rows 20 "$INFEROGRAM" report "$T/showcase.ifg" --no-pager)" "paged:"
is "PAGER is the second choice" "$(unset INFEROGRAM_PAGER
    PAGER='sed "s/^/other: /"' at 80 --rows 20 "$INFEROGRAM" report "$T/showcase.ifg" | grep -c '^other: Models')" 1
is "JSON is not broken into lines" "$(at 80 --rows 3 "$INFEROGRAM" cat "$T/showcase.ifg" | sed 's/^paged: //' |
    python3 -c 'import json, sys; print(sum(1 for line in sys.stdin if json.loads(line)) > 100)')" True
INFEROGRAM_PAGER=no-such-pager
contains "without that pager all is there" "$(at 80 --rows 20 "$INFEROGRAM" report "$T/showcase.ifg")" "Recording "
INFEROGRAM_PAGER='head -n 1'
exits "a pager that is left early" 0 at 80 --rows 20 "$INFEROGRAM" cat "$T/large.ifg"
is "has shown what it wanted" "$(wc -l <"$T/stdout")" 1
if command -v less >/dev/null; then
    unset INFEROGRAM_PAGER
    exits "less stays after Ctrl-C, and q ends it" 0 at 80 --rows 20 --await "Models" --type '^C' --end q \
        "$INFEROGRAM" report "$T/showcase.ifg"
    lacks "without a word" "$(cat "$T/stderr")" inferogram
else
    skip "less" "it is not installed"
fi

# ---- the newest trace ----
mkdir "$T/here"
cd "$T/here" || exit 1
for command in report stats info summary explain cat 'export --format csv' 'query SELECT(1)' serve 'annotate main'; do
    # shellcheck disable=SC2086 # words
    exits "$command where there is no trace" 2 "$INFEROGRAM" $command
    contains "says what to do" "$(cat "$T/stderr")" "which trace? There is no *.ifg in this directory: give a file, or make one with"
done
cp "$T/plain.ifg" old.ifg
touch -d '2020-01-01' old.ifg
cp "$T/showcase.ifg" new.ifg
mkdir folder.ifg
for command in report stats info summary explain cat 'export --format csv -o -' 'query SELECT(1)'; do
    # shellcheck disable=SC2086 # words
    exits "$command without a file" 0 "$INFEROGRAM" $command
    is "names the newest" "$(head -n 1 "$T/stderr")" "inferogram: new.ifg is the newest trace here"
done
exits "query with a file and no SQL" 2 "$INFEROGRAM" query old.ifg
contains "asks for SQL" "$(cat "$T/stderr")" "which SQL?"

done_testing
