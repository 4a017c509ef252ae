#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where `inferogram export` writes, what it refuses, what it filters, and how it fails.
. "$TAP_SH"
"$EXPORT_TRACES" everything "$T/t.ifg" >"$T/truth"
run() { "$INFEROGRAM" export "$@"; }

ok "to stdout" run "$T/t.ifg" --format csv -o -
is "stdout has nothing but the result" "$(head -n 1 "$T/stdout")" \
    "process,thread,thread_name,kind,category,model,function,name,depth,start_ns,dur_ns,unfinished"
cp "$T/stdout" "$T/first"
ok "beside the trace" run "$T/t.ifg" --format csv
ok "the same bytes" cmp "$T/t.csv" "$T/first"
exits "never overwrites" 1 run "$T/t.ifg" --format csv
contains "and says so" "$(cat "$T/stderr")" "exists already; -f replaces it"
echo old >"$T/t.csv"
ok "unless told to" run "$T/t.ifg" --format csv -f
ok "it is replaced" grep -q plain "$T/t.csv"
is "nothing else is left" "$(find "$T" -name '*.partial' | wc -l)" 0
ok "to a device" run "$T/t.ifg" --format chrome -o /dev/null
exits "a full disk is a failure" 1 run "$T/t.ifg" --format chrome -o /dev/full
contains "with a reason" "$(cat "$T/stderr")" "No space left"
exits "no such directory" 1 run "$T/t.ifg" --format chrome -o "$T/no/such"

# A file that cannot be completed does not stay.
limited() { (ulimit -f 1 && trap '' XFSZ && "$INFEROGRAM" export "$@"); }
"$EXPORT_TRACES" large "$T/large.ifg" >/dev/null
exits "a limit on the size of files" 1 limited "$T/large.ifg" --format chrome -o "$T/limited"
ok "leaves no half file" test ! -e "$T/limited"
echo old >"$T/kept"
exits "nor a half replacement" 1 limited "$T/large.ifg" --format chrome -f -o "$T/kept"
is "what was there stays" "$(cat "$T/kept")" old
is "and nothing beside it" "$(find "$T" -name '*.partial' | wc -l)" 0

# The command line.
exits "which trace?" 2 run --format csv
exits "which format?" 2 run "$T/t.ifg"
exits "an unknown format" 2 run "$T/t.ifg" --format xml
exits "an option of another format" 2 run "$T/t.ifg" --format csv --compress
exits "not a trace" 2 run "$T/truth" --format csv -o -
exits "no such trace" 2 run "$T/none.ifg" --format csv -o -
exits "no such model" 2 run "$T/t.ifg" --format csv -o - --model none
exits "no such thread" 2 run "$T/t.ifg" --format csv -o - --thread none
exits "a wrong pattern" 2 run "$T/t.ifg" --format csv -o - --name '('
ok "help" run --help

# Filters.
rows() { run "$T/t.ifg" --format csv -o - "$@" 2>/dev/null | grep -c ',[01]$'; }
is "by name" "$(rows --name '^pl.in$')" 4
is "by a name of its own" "$(rows --name renamed)" 1
is "by thread number" "$(rows --thread 103)" 1
is "by thread name" "$(rows --thread worker)" 3
is "by model: its events and what is inside" "$(rows --model llm --thread 'main, "first"')" 9
is "by time" "$(rows --from 0.0000039 --to 0.0000043)" 4
matches "a tab between columns" "$(run "$T/t.ifg" --format csv --sep '\t' -o - 2>/dev/null)" \
    "^process	thread	thread_name"
is "csvexport's filter, any case" \
    "$(run "$T/t.ifg" --format tracy-csv --filter PLAIN -o - 2>/dev/null | wc -l)" 4
is "csvexport's filter, this case" \
    "$(run "$T/t.ifg" --format tracy-csv --filter PLAIN --case -o - 2>/dev/null | wc -l)" 1
matches "stacks by thread" "$(run "$T/t.ifg" --format folded --by-thread -o - 2>/dev/null)" \
    "^worker 103;post 30$"

done_testing
