#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Imported slices that overlap on one thread, as in traces of PyTorch: every reader sees all of them, in order, with
# their arguments. Compared with what a plain SQLite table of the same file says.
. "$TAP_SH"

overlapping=$SOURCE_DIR/tests/import/overlapping.py
cd "$T" || exit 99

for kind in kineto random; do
    for seed in 1 2 3 5; do
        name=$kind$seed
        python3 "$overlapping" make "$name.json" "$seed" "$kind"
        ok "import $name" "$INFEROGRAM" import "$name.json" -f
        contains "and say that zones overlap" "$(cat stdout stderr)" "in rows of their own"
        ok "$name: queries, statistics, arguments and arrows are those of the file" \
            python3 "$overlapping" check "$name.json" "$name.ifg" "$INFEROGRAM"
        note "$(tail -n 1 stdout)"
        ok "$name goes out" "$INFEROGRAM" export "$name.ifg" --format chrome -o "$name.out.json" -f
        ok "with the same slices, categories and arguments" python3 "$overlapping" same "$name.json" "$name.out.json"
        note "$(cat stdout)"
    done
done

done_testing
