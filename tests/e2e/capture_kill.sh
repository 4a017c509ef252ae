#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGKILL of the program, the capture, the agent and its recorder, at KILLS (3) random moments each: every file can be
# read, the program goes on, nobody is left behind, and the next capture works.
. "$TAP_SH"
KILLS=${KILLS:-3}

for who in program capture agent recorder; do
    python3 "$SOURCE_DIR/tests/e2e/capture_kill.py" "$who" "$KILLS" "$INFEROGRAM" "$REC_TICKER" "$T" \
        >"$T/report" 2>"$T/stderr"
    sed 's/^/# /' "$T/stderr"
    is "$who: $KILLS kills, and all is well" "$(sort -u "$T/report") $(wc -l <"$T/report")" "good $KILLS"
done

done_testing
