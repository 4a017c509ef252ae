#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the server share.
#
#   serve ARGUMENTS...   starts `inferogram serve`; its address is in $url, its id in $spawned
#   stop_serving         ends it as Ctrl-C would; its status is in $status
# shellcheck disable=SC2034,SC2154 # used by the tests, set by tap.sh

serve() {
    : >"$T/serve.out"
    spawn "$INFEROGRAM" serve "$@" >"$T/serve.out" 2>"$T/serve.err"
    serve_tries=0
    until [ -s "$T/serve.out" ] || [ "$serve_tries" -gt 3000 ]; do
        sleep 0.02
        serve_tries=$((serve_tries + 1))
    done
    url=$(head -n 1 "$T/serve.out")
}

stop_serving() {
    kill -INT "$spawned"
    status=0
    wait "$spawned" || status=$?
}
