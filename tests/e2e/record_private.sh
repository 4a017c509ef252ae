#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who can read a trace, and what it tells of arguments.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
umask 022
record() {
    "$INFEROGRAM" record -q "$@" </dev/null
}
mode() {
    stat -c %a "$1"
}

# ---- rights ----
record -o plain.ifg -- "$REC_TICKER" -c 1
is "a trace is its owner's alone" "$(mode plain.ifg)" 600
record -o open.ifg --mode 0644 -- "$REC_TICKER" -c 1
is "--mode 0644: everybody may read it" "$(mode open.ifg)" 644
(umask 077 && record -o group.ifg --mode 640 -- "$REC_TICKER" -c 1)
is "whatever the umask is" "$(mode group.ifg)" 640
for wrong in 0400 0777 abc 8 '' 010644; do
    exits "--mode '$wrong' is refused" 2 record -o wrong.ifg --mode "$wrong" -- true
done
ok "and nothing is written then" test ! -e wrong.ifg

# ---- links ----
echo precious >victim
ln -s victim link.ifg
exits "a link is not written through" 125 record -o link.ifg -- true
record -f -o link.ifg -- "$REC_TICKER" -c 1
is "nor with -f" "$(cat victim)" precious
ok "-f replaces the link" test ! -L link.ifg
ln -s nowhere dangling.ifg
exits "a link to nothing neither" 125 record -o dangling.ifg -- true
ok "nothing was made behind it" test ! -e nowhere
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    mkdir -m 1777 shared
    (cd shared && setpriv --reuid 40001 --clear-groups ln -s "$T/victim" t.ifg)
    ok "another user puts a link there" test -L shared/t.ifg
    record -f -o shared/t.ifg -- "$REC_TICKER" -c 1
    is "a link of another user in a directory for all is not followed" "$(cat victim)" precious
    is "and the trace is ours" "$(stat -c %u:%a shared/t.ifg)" 0:600
fi

# ---- arguments ----
told() {
    json "$1" "' '.join([p['arguments'] for p in d['processes']] + [str(d['facts'])])"
}
secret='sw0rdfish'
# shellcheck disable=SC2016 # for the inner shell
record -o secret.ifg -- sh -c 'exec "$0" -c 1' "$REC_TICKER" "--token=$secret" --api-key "$secret" "PASSWORD=$secret" \
    "https://me:$secret@host/x" keep=this --max-tokens=5
lacks "secrets are left out of a trace" "$(told secret.ifg)" "$secret"
contains "other arguments are not" "$(told secret.ifg)" "keep=this --max-tokens=5"
lacks "also not in its bytes" "$(strings secret.ifg)" "$secret"
# shellcheck disable=SC2016 # for the inner shell
record -o pattern.ifg --redact 'cust[a-z]*-[0-9]+' --redact zebra -- sh -c 'exec "$0" -c 1' "$REC_TICKER" customer-12 zebra keep
lacks "--redact leaves out what matches" "$(told pattern.ifg)" "customer-12"
lacks "and is not told itself" "$(told pattern.ifg)" "zebra"
contains "the rest is there" "$(told pattern.ifg)" "keep"
exits "a wrong pattern is refused" 2 record -o x.ifg --redact '(' -- true
# shellcheck disable=SC2016 # for the inner shell
record -o none.ifg --no-args -- sh -c 'exec "$0" -s 0.5' "$REC_TICKER" private words
lacks "--no-args leaves arguments out" "$(told none.ifg)" "private"
contains "not the program's name" "$(told none.ifg)" "rec_ticker"
contains "info says it" "$("$INFEROGRAM" info none.ifg)" "(left out: --no-args)"

done_testing
