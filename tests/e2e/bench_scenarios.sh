#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How bench puts load on a model: an open loop pays for a stall, closed loops do not; workers, queries, rates.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/bench_lib.sh"

measure() { bench --processes 1 --json "$@" >"$T/result.json" 2>"$T/stderr"; }

# One inference of 400 ms among those of 1 ms; 5 come before in the warm-up.
fake stall run_us=1000 how=sleep stall_at=105 stall_ms=400
measure "$T/stall" --scenario server --rate 200 --concurrency 1 -n 300
is "server: every query" "$(value 'len(d["raw_samples_ms"]), d["options"]["scenario"]')" "(300, 'server')"
is "the p99 from when they were due shows the stall" "$(value 'd["p99_ms"] >= 300')" True
is "the p50 does not" "$(value 'd["p50_ms"] < 300')" True
# Once, if the machine does not stand still as well.
is "service time shows it, and not those who waited" "$(value 'd["open_loop"]["service_ms"][99] > 300, sum(x > 300 for x in d["open_loop"]["service_ms"]) < sum(x > 300 for x in d["raw_samples_ms"])')" "(True, True)"
is "those who waited were late" "$(value 'd["open_loop"]["late"] > 30 and d["open_loop"]["lateness_p99_ms"] > 250')" True
ok "as text" bench --processes 1 "$T/stall" --scenario server --rate 200 --concurrency 1 -n 300
text=$(cat "$T/stdout")
matches "asked, achieved, scheduled, late" "$text" '^rate +200/s asked, [0-9]+/s achieved · 300 scheduled · [0-9]+ late'
matches "latency first" "$text" '^latency +p50 '
matches "service time is labelled" "$text" '^service time +p50 .* max ([4-9][0-9][0-9] ms|[0-9.]+ s)'

# Twenty times what one worker can do.
fake slow run_us=2000 how=sleep
ok "a rate that cannot be met" bench --processes 1 "$T/slow" --scenario server --rate 10000 --concurrency 1 -n 200 --slo 5ms
contains "OVERLOADED" "$(cat "$T/stdout")" "OVERLOADED   percentiles describe a growing queue"
matches "goodput is small" "$(cat "$T/stdout")" '^goodput +[0-9]\.[0-9]+ % within 5.00 ms'
# A machine that stands still cannot meet it: then again.
for _ in 1 2 3; do
    measure "$T/slow" --scenario server --rate 50 --concurrency 2 -n 50 --slo 10s
    [ "$(value 'd["open_loop"]["overloaded"]')" = True ] || break
done
is "a rate that is met" "$(value 'd["open_loop"]["overloaded"], d["goodput"]')" "(False, 1)"

# The highest rate: below what a worker can do at best, and its promise is kept.
fake brisk run_us=500 how=sleep
for _ in 1 2 3; do
    measure "$T/brisk" --scenario server --find-rate --slo 200ms --concurrency 1 -n 50
    [ "$(value 'd["open_loop"]["found_hz"] > 50')" = False ] || break
done
is "--find-rate finds one" "$(value '50 < d["open_loop"]["found_hz"] < 2000')" True
is "and measures at it" "$(value 'd["open_loop"]["asked_hz"] == d["open_loop"]["found_hz"]')" True
is "which a long run confirms" "$(value 'd["open_loop"]["confirmed_s"] >= 10 and d["open_loop"]["confirmed_too_slow"] <= 0.01 * d["open_loop"]["confirmed_queries"]')" True
ok "what confirms it, recomputed" python3 "$SOURCE_DIR/tests/e2e/bench_statistics.py" "$T/result.json"
# It stands still for 300 ms of each second: a quarter of all queries misses 20 ms, whatever the rate. Short runs do not
# meet that.
fake halting run_us=200 how=sleep stall_every_ms=1000 stall_ms=300
ok "--find-rate where stalls leave no rate" bench --processes 1 "$T/halting" --scenario server --find-rate --slo 20ms --concurrency 1 -n 50 -f -o "$T/result.json"
is "finds none" "$(value 'd["open_loop"]["found_hz"], d["open_loop"]["confirmed_s"], d["open_loop"]["missed_hz"] > 0')" "(0, None, True)"
matches "and says so" "$(cat "$T/stdout")" '^found rate +none: at no rate that was tried the p99 stays within 20.0 ms, not even at [0-9.]+/s$'
measure "$T/slow" --scenario server --find-rate --slo 1ms --concurrency 1 -n 20
is "no rate makes a slow model fast" "$(value 'd["open_loop"]["found_hz"]')" 0

measure "$T/brisk" --scenario multi --per-query 4 -n 20
is "multi: a sample is a query of 4" "$(value 'len(d["raw_samples_ms"]), min(d["raw_samples_ms"]) >= 2')" "(20, True)"
is "throughput counts inferences" "$(value 'abs(d["throughput_fps"] * sum(b["wall_ms"] for b in d["blocks"]) / 80e3 - 1) < 1e-9')" True
measure "$T/slow" -n 2000 --concurrency 4 # a second, so that nothing that comes between is most of it
is "workers run at the same time" "$(value 'sum(b["wall_ms"] for b in d["blocks"]) < 0.7 * sum(d["raw_samples_ms"])')" True
measure "$T/slow" -n 40
is "one worker does not" "$(value 'sum(b["wall_ms"] for b in d["blocks"]) >= 0.99 * sum(d["raw_samples_ms"])')" True
ok "offline" bench --processes 1 "$T/slow" --scenario offline -n 40
contains "uses all CPUs" "$(cat "$T/stdout")" "scenario offline"

done_testing
