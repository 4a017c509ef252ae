#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Help, version and wrong command lines, for every command.
. "$TAP_SH"
# Without a file, a command takes the newest trace of its directory, and `make demo` leaves one in the build's.
mkdir "$T/empty"
cd "$T/empty" || exit 1

exits "no command: help, and a usage error" 2 "$INFEROGRAM"
contains "help names the commands" "$(cat "$T/stdout")" "record"
for option in --help -h help; do
    exits "$option" 0 "$INFEROGRAM" "$option"
    contains "$option goes to stdout" "$(cat "$T/stdout")" "usage: inferogram COMMAND"
    is "$option says nothing on stderr" "$(cat "$T/stderr")" ""
done
"$INFEROGRAM" --help >"$T/top"
for option in --version -V; do
    exits "$option" 0 "$INFEROGRAM" "$option"
    is "$option prints the version" "$(head -n 1 "$T/stdout")" "inferogram $(cat "$SOURCE_DIR/VERSION")"
    matches "$option tells how it was built" "$(cat "$T/stdout")" "^built by (gcc|clang) [0-9.]+, "
    if [ -n "$("$SOURCE_DIR/tools/commit-name")" ]; then
        matches "$option names the commit" "$(cat "$T/stdout")" '^commit [0-9a-f]{12}[+]?$'
    fi
    lacks "$option does not print what it does not know" "$(cat "$T/stdout")" unknown
done

"$INFEROGRAM" --list-options >"$T/list"
commands=$(sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' "$T/top" | grep -vx inferogram)
for command in $commands; do
    contains "help lists $command" "$(cat "$T/top")" "  $command"
    for option in --help -h; do
        exits "$command $option" 0 "$INFEROGRAM" "$command" "$option"
        contains "$command $option goes to stdout" "$(cat "$T/stdout")" "usage: inferogram $command"
        is "$command $option says nothing on stderr" "$(cat "$T/stderr")" ""
    done
    is "$command --help fits 100 columns" "$(grep -E '.{101}' "$T/stdout")" ""
    "$INFEROGRAM" "$command" --help >"$T/$command.help"
    # Every option of the table has a line of its own in the help.
    awk -F '\t' -v command="$command" '$1 == command { print $2 }' "$T/list" >"$T/options"
    ok "$command has options" test -s "$T/options"
    while read -r option; do
        matches "$command --help tells of $option" "$(cat "$T/$command.help")" "^  (-[a-z], |    )$option( |\[|$)"
    done <"$T/options"
    exits "$command with an unknown option" 2 "$INFEROGRAM" "$command" --no-such-option
    contains "$command names it" "$(cat "$T/stderr")" "unknown option --no-such-option"
    contains "$command points to its help" "$(cat "$T/stderr")" "see 'inferogram $command --help'"
    is "$command keeps stdout clean" "$(cat "$T/stdout")" ""
    exits "$command with an unknown letter" 2 "$INFEROGRAM" "$command" -Z
    contains "$command names the letter" "$(cat "$T/stderr")" "unknown option -Z"
done
contains "record tells its exit statuses" "$(cat "$T/record.help")" "125"

exits "an unknown command" 2 "$INFEROGRAM" recrod
contains "with the one that was meant" "$(cat "$T/stderr")" "there is no command 'recrod' (did you mean 'record'?); see 'inferogram --help'"
exits "another beginning with the same letter" 2 "$INFEROGRAM" rust
is "was not meant" "$(cat "$T/stderr")" "inferogram: there is no command 'rust'; see 'inferogram --help'"
exits "help COMMAND" 0 "$INFEROGRAM" help record
contains "is COMMAND --help" "$(cat "$T/stdout")" "usage: inferogram record"
exits "help of an unknown command" 2 "$INFEROGRAM" help recrod
exits "an unknown command like nothing" 2 "$INFEROGRAM" zzz
contains "points to the help" "$(cat "$T/stderr")" "there is no command 'zzz'; see 'inferogram --help'"
exits "an unknown option" 2 "$INFEROGRAM" --zzz
exits "an empty command" 2 "$INFEROGRAM" ''

for option in --pid --name --path -o --output --duration; do
    exits "record $option without a value" 2 "$INFEROGRAM" record "$option"
    contains "is told" "$(cat "$T/stderr")" "option $option needs a value"
done
for option in --sample --ops --resources; do
    exits "record $option with its value behind a blank" 2 "$INFEROGRAM" record "$option" 4 -- true
    contains "is told" "$(cat "$T/stderr")" "a value of $option stands behind an equals sign: $option=4;"
done
exits "stats with a slightly wrong option" 2 "$INFEROGRAM" stats --limt 5 a
contains "is told the right one" "$(cat "$T/stderr")" "unknown option --limt (did you mean '--limit'?);"
exits "export with too short an option" 2 "$INFEROGRAM" export --f chrome a
contains "is told which it may be" "$(cat "$T/stderr")" "option --f may be any of --format, --force, --from, --filter;"
exits "stats with none of the choices" 2 "$INFEROGRAM" stats --percentile middle a
contains "is told them" "$(cat "$T/stderr")" "--percentile is linear or nearest, not 'middle';"
exits "record with a value too many" 2 "$INFEROGRAM" record --memory=5 -- true
contains "is told" "$(cat "$T/stderr")" "option --memory takes no value;"
exits "record with a wrong standing option" 2 env IFG_RECORD_OPTIONS="--nonsense" "$INFEROGRAM" record -- true
contains "says where it may come from" "$(cat "$T/stderr")" "IFG_RECORD_OPTIONS adds options, too: --nonsense"
exits "record without anything" 2 "$INFEROGRAM" record
contains "asks what to record" "$(cat "$T/stderr")" "what shall be recorded?"
exits "record -- without a command" 2 "$INFEROGRAM" record --
exits "record with a command and a pid" 2 "$INFEROGRAM" record --pid 1 -- true
exits "record with pid and name" 2 "$INFEROGRAM" record --pid 1 --name x
for duration in 0 -1 x 5x '' nan inf 1e99; do
    exits "record --duration '$duration'" 2 "$INFEROGRAM" record --duration "$duration" -- true
done
exits "info without a file" 2 "$INFEROGRAM" info
exits "info with two files" 2 "$INFEROGRAM" info a b
contains "names the second" "$(cat "$T/stderr")" "'b' is too many"
exits "info --top x" 2 "$INFEROGRAM" info --top x a
exits "ls with an argument" 2 "$INFEROGRAM" ls a
is "options after -- belong to the command" "$("$INFEROGRAM" record -q -o "$T/a.ifg" -- echo --help -o 2>&1)" \
    "--help -o"
is "options after the command's name too" "$("$INFEROGRAM" record -fqo "$T/a.ifg" echo --pid 2>&1)" "--pid"

esc=$(printf '\033')
exits "an escape sequence as an option" 2 "$INFEROGRAM" record "--${esc}[31m"
lacks "does not reach the terminal" "$(cat "$T/stderr")" "$esc"
exits "nor as a command" 2 "$INFEROGRAM" "${esc}[31m"
lacks "does it" "$(cat "$T/stderr")" "$esc"
exits "a full disk under --help" 1 sh -c "'$INFEROGRAM' --help >/dev/full"
contains "is told" "$(cat "$T/stderr")" "cannot write the result"

done_testing
