#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed beside the programs: the service of the agent. And where version and commit come from.
. "$TAP_SH"
unit=$BUILD_DIR/packaging/systemd/inferogram-agent.service

lacks "every place is filled in" "$(cat "$unit")" "@"
exec_start=$(sed -n 's/^ExecStart=//p' "$unit")
# shellcheck disable=SC2086 # words
set -- $exec_start
is "it runs the agent" "${1##*/} $2" "inferogram agent"
# shellcheck disable=SC2046 # words
set -- $(sed -n 's/^Environment="AGENT_OPTIONS=\(.*\)"/\1/p' "$unit")
help=$("$INFEROGRAM" agent --help)
for word; do
    case $word in --*) contains "the agent knows $word" "$help" "$word" ;; esac
done
if command -v systemd-analyze >/dev/null; then
    # With a program that is there: what is checked is not installed.
    sed "s|^ExecStart=[^ ]*|ExecStart=$INFEROGRAM|" "$unit" >"$T/inferogram-agent.service"
    said=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$T/inferogram-agent.service" 2>&1 |
        grep inferogram-agent)
    is "systemd has nothing to say against it" "$said" ""
else
    skip "systemd has nothing to say against it" "systemd: not installed"
fi

# ---- version and commit ----

version=$(cat "$SOURCE_DIR/VERSION")
is "the header has the version of VERSION" "$(sed -n 's/^#define IFG_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' \
    "$SOURCE_DIR/include/inferogram/inferogram.h" | tr '\n' ' ')" "$(echo "$version" | tr . ' ') "
matches "the changelog tells of it" "$(cat "$SOURCE_DIR/CHANGELOG.md")" "^## $version"

if command -v git >/dev/null; then
    unset GIT_DIR GIT_WORK_TREE
    export HOME="$T" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    mkdir -p "$T/tree/tools" "$T/tree/packaging"
    cp "$SOURCE_DIR/tools/commit-name" "$T/tree/tools/"
    cp "$SOURCE_DIR/packaging/commit" "$T/tree/packaging/"
    cp "$SOURCE_DIR/.gitattributes" "$T/tree/"
    git -C "$T" init -q outer
    mv "$T/tree" "$T/outer/tree"
    tree=$T/outer/tree
    is "of a checkout that is somebody else's nothing is told" "$("$tree/tools/commit-name")" ""
    git -C "$tree" init -q
    is "nor before the first commit" "$("$tree/tools/commit-name" 2>&1)" ""
    git -C "$tree" add -A
    git -C "$tree" commit -q -m first
    hash=$(git -C "$tree" rev-parse --short=12 HEAD)
    is "a checkout" "$("$tree/tools/commit-name")" "$hash"
    echo >>"$tree/tools/commit-name"
    is "with a change" "$("$tree/tools/commit-name")" "$hash+"
    mkdir "$T/archive"
    git -C "$tree" archive HEAD | tar -xf - -C "$T/archive"
    is "the archive of a release" "$("$T/archive/tools/commit-name")" "$hash"
else
    skip "commits" "tools: git is not installed"
fi
done_testing
