#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shell completions: real shells complete commands, options, choices and file names.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
cd "$T" || exit 99

exits "no shell" 2 "$INFEROGRAM" completions
contains "is asked for" "$(cat "$T/stderr")" "which shell? Give bash, zsh or fish"
exits "another shell" 2 "$INFEROGRAM" completions tcsh
contains "is refused" "$(cat "$T/stderr")" "there are completions for bash, zsh and fish, not 'tcsh'"
exits "the name that other programs have for it" 0 "$INFEROGRAM" completion bash
is "is the same" "$(cat "$T/stdout")" "$("$INFEROGRAM" completions bash)"
command -v python3 >/dev/null || skip_all "tools: python3 is not installed"

mkdir work && cd work || exit 99
mkdir traces
touch run.ifg "with blank.ifg" notes.txt model.onnx result.json inferogram.toml traces/old.ifg

# completed WORDS...: how the shell at hand completes a line, its words sorted
completed() {
    python3 "$SOURCE_DIR/tests/cli/complete.py" "$shell" "$T/_inferogram" "$*" >"$T/completed" 2>"$T/complaint" ||
        note "$(cat "$T/complaint")"
    # Choices and files may come in any order; some shells put a blank, a slash, an equals sign or a comma behind them.
    tr ' ' '\n' <"$T/completed" | sed 's,[/\,=]$,,; /^$/d' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}

# zsh finds the script by its name, as where it is installed; the others read it.
for shell in bash zsh fish; do
    if ! command -v "$shell" >/dev/null; then
        skip "$shell" "tools: $shell is not installed"
        continue
    fi
    ok "$shell: there is a script" sh -c "'$INFEROGRAM' completions $shell >'$T/_inferogram'"
    ok "$shell: which it understands" "$shell" -n "$T/_inferogram"
    is "$shell: a command" "$(completed "inferogram expo")" "export inferogram"
    is "$shell: the commands that begin so" "$(completed "inferogram re")" "inferogram record report"
    is "$shell: the short name" "$(completed "ifg summ")" "ifg summary"
    is "$shell: an option" "$(completed "inferogram report run.ifg --max-s")" "--max-size inferogram report run.ifg"
    "$INFEROGRAM" --list-options | awk -F '\t' '$1 == "record" { print $2 }' | sort >"$T/options"
    completed "inferogram record --" | tr ' ' '\n' | sed -n 's/=*$//; /^--/p' | sort -u >"$T/offered"
    ok "$shell: all options of its table" diff "$T/options" "$T/offered"
    is "$shell: choices" "$(completed "inferogram stats run.ifg --percentile ")" \
        "--percentile inferogram linear nearest run.ifg stats"
    is "$shell: some of them" "$(completed "inferogram record --hook in")" "--hook inferogram inject record"
    is "$shell: choices behind an equals sign" "$(completed "inferogram record --hook=in" | sed 's/=/ /')" \
        "--hook inject inferogram record"
    is "$shell: choices of a table in another room" "$(completed "inferogram export run.ifg --format tr")" \
        "--format export inferogram run.ifg tracy-csv"
    is "$shell: the next of several choices" "$(completed "inferogram cat --type fact,me")" \
        "--type cat fact,message inferogram"
    is "$shell: names of checks" "$(completed "inferogram doctor session_d")" "doctor inferogram session_directory"
    contains "$shell: names of findings" "$(completed "inferogram explain ep-fall")" "ep-fallback"
    is "$shell: a trace" "$(completed "inferogram info ru")" "inferogram info run.ifg"
    found=" $(completed "inferogram info ") "
    contains "$shell: traces" "$found" " run.ifg "
    contains "$shell: and directories" "$found" " traces "
    case $shell in
    fish) ;; # shows other files behind them
    *) lacks "$shell: but no other files" "$found" "notes.txt" ;;
    esac
    is "$shell: a trace in a directory" "$(completed "inferogram info traces/")" "inferogram info traces/old.ifg"
    contains "$shell: a name with a blank" "$(completed "inferogram info wit")" "blank.ifg"
    is "$shell: a model" "$(completed "inferogram bench mod")" "bench inferogram model.onnx"
    is "$shell: a file for an option" "$(completed "inferogram gate --result res")" "--result gate inferogram result.json"
    is "$shell: settings for an option" "$(completed "inferogram gate --config inf")" "--config gate inferogram inferogram.toml"
    is "$shell: words of the program itself" "$(completed "inferogram record -- cat no")" "-- cat inferogram notes.txt record"
done

done_testing
