#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/install-deps without installing anything.
. "$TAP_SH"
install=$SOURCE_DIR/tools/install-deps

ok "--help" "$install" --help
exits "unknown option" 2 "$install" --frobnicate

printf 'ID=fedora\nPRETTY_NAME="Fedora Linux 40"\n' >"$T/fedora"
exits "another distribution" 4 env INSTALL_DEPS_OS_RELEASE="$T/fedora" "$install"
contains "is named" "$(cat "$T/stderr")" "Fedora Linux 40"
contains "gets the list" "$(cat "$T/stderr")" "libzstd-dev"

if ! command -v dpkg-query >/dev/null; then
    skip "package checks" "no dpkg-query on this system"
    done_testing
fi
printf 'ID=debian\nVERSION_ID=12\n' >"$T/debian"
export INSTALL_DEPS_OS_RELEASE="$T/debian"

printf '# nothing but comments\n\nno-such-package | dpkg # either\n' >"$T/list"
exits "nothing missing: --check" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "one line says so" "$(cat "$T/stdout")" "install-deps: nothing is missing"
exits "nothing missing: install" 0 env INSTALL_DEPS_LIST="$T/list" "$install"

printf 'dpkg\nno-such-package|nor-this-one\n' >"$T/list"
exits "missing: --check" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "lists what is missing" "$(cat "$T/stdout")" \
    "install-deps: missing: no-such-package|nor-this-one"

done_testing
