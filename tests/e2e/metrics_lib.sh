#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154
# What the tests of metrics share; after tap.sh and record_lib.sh.
#
#   of QUESTION ...     asks metrics.py
#   scrape              what is at $url, in $T/scrape; fails if it cannot be had
#   scraped NAME VALUE  whether the samples of this name add up to the value now

of() { python3 "$SOURCE_DIR/tests/e2e/metrics.py" "$@"; }
scrape() { curl -sf --max-time 60 "$url" >"$T/scrape"; }
scraped() { scrape && [ "$(of sum "$T/scrape" "$1")" = "$2" ]; }

# check_format NAME: both formats of what is at $url.
check_format() {
    if command -v promtool >/dev/null; then
        curl -sf "$url" | promtool check metrics >"$T/lint" 2>&1
        is "$1: promtool has nothing to say" "$? $(cat "$T/lint")" "0 "
    else
        skip "$1: promtool" "prometheus: not installed"
    fi
    curl -sf -D "$T/head" -H 'Accept: application/openmetrics-text;version=1.0.0' "$url" >"$T/open"
    contains "$1: OpenMetrics if that is accepted" "$(cat "$T/head")" "application/openmetrics-text; version=1.0.0; charset=utf-8"
    is "$1: OpenMetrics is well-formed" "$(of check "$T/open")" "well-formed"
}
