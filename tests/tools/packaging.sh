#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed beside the programs: the service of the agent.
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
done_testing
