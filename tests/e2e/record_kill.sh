#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGKILL of the program, and of the recorder, at KILLS (20) random moments each: every file can be
# read, at most the last 250 ms are missing, and the program goes on.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

KILLS=${KILLS:-20}
LOSS_MAX_MS=250

for who in program recorder; do
    python3 "$SOURCE_DIR/tests/e2e/record_kill.py" "$who" "$KILLS" "$INFEROGRAM" "$REC_TICKER" "$T" \
        >"$T/$who.report" 2>"$T/$who.stderr"
    sed 's/^/# /' "$T/$who.stderr"
    is "$who: every kill leaves a file that can be read, and nothing else is hurt" \
        "$(grep '^bad' "$T/$who.report")" ""
    is "$who: $KILLS kills were measured" "$(grep -c '^loss' "$T/$who.report")" "$KILLS"
    worst=$(sed -n 's/^worst //p' "$T/$who.report")
    note "$who: the worst loss was $worst ms, the load $(cut -d' ' -f1-3 /proc/loadavg)"
    if [ "${worst%.*}" -lt "$LOSS_MAX_MS" ]; then
        pass "$who: at most the last $LOSS_MAX_MS ms are lost"
    else
        fail "$who: at most the last $LOSS_MAX_MS ms are lost" \
            "losses in ms: $(sed -n 's/^loss //p' "$T/$who.report" | sort -n | tail -n 10 | tr '\n' ' ')"
    fi
done

# What killed recorders leave behind is removed by the next one.
"$INFEROGRAM" record -q -o "$T/next.ifg" -- true 2>/dev/null
stale=
sed -n 's/^killed //p' "$T/recorder.report" >"$T/killed"
while read -r pid; do
    for directory in "/dev/shm/inferogram-$(id -u)-$pid-"*; do
        [ ! -e "$directory" ] || stale="$stale $directory"
    done
done <"$T/killed"
is "no directory of a killed recorder is left" "$stale" ""

done_testing
