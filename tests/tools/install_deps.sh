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

# Stands in for tools/fetch-runtimes; $T/fetched counts.
cat >"$T/fetch" <<'EOF'
#!/bin/sh
if [ "$1" = --list ]; then
    echo "ort-node-1.30.0 $FETCH_STATE"
    exit 0
fi
echo "$1" >>"$T/fetched"
[ "$FETCH_STATE" != impossible ] || { echo "fetch-runtimes: $1 cannot be had: npm is not installed" >&2; exit 1; }
echo "/somewhere/$1"
EOF
# Stands in for tools/build-ui.
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\necho "$*" >>"$T/page"\n' >"$T/build-ui"
chmod +x "$T/fetch" "$T/build-ui"
export T INSTALL_DEPS_FETCH="$T/fetch" INSTALL_DEPS_PAGE="$T/build-ui" FETCH_STATE=here
unset SUDO_USER

printf '# nothing but comments\n\nno-such-package | dpkg # either\n' >"$T/list"
exits "nothing missing: --check" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "one line says so" "$(cat "$T/stdout")" "install-deps: nothing is missing"
exits "nothing missing: install" 0 env INSTALL_DEPS_LIST="$T/list" "$install"
ok "ONNX Runtime is here: nothing is fetched" test ! -e "$T/fetched"
is "the packages of the page are brought, once" "$(cat "$T/page")" "--packages"
exits "ONNX Runtime is fetched" 0 env INSTALL_DEPS_LIST="$T/list" FETCH_STATE=missing "$install"
is "by its name" "$(cat "$T/fetched")" "ort-node-1.30.0"
contains "it says where it is" "$(cat "$T/stdout")" "/somewhere/ort-node-1.30.0"
exits "ONNX Runtime cannot be had: no failure" 0 \
    env INSTALL_DEPS_LIST="$T/list" FETCH_STATE=impossible "$install"
contains "the reason is told" "$(cat "$T/stdout")" "npm is not installed"
contains "and what to do" "$(cat "$T/stdout")" "npm install onnxruntime-node"
# Root, but for somebody: the cache is that user's.
mkdir "$T/bin"
printf '#!/bin/sh\necho 0\n' >"$T/bin/id"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\necho "$1 $2 $3" >>"$T/sudo"\nshift 3\nexec "$@"\n' >"$T/bin/sudo"
chmod +x "$T/bin/id" "$T/bin/sudo"
exits "through sudo" 0 \
    env INSTALL_DEPS_LIST="$T/list" FETCH_STATE=missing SUDO_USER=somebody PATH="$T/bin:$PATH" "$install"
is "as the user who asked" "$(sort -u "$T/sudo")" "-H -u somebody"
rm -f "$T/fetched"
exits "--check fetches nothing" 0 env INSTALL_DEPS_LIST="$T/list" FETCH_STATE=missing "$install" --check
ok "not even a try" test ! -e "$T/fetched"

printf 'dpkg\nno-such-package|nor-this-one\n' >"$T/list"
exits "missing: --check" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "lists what is missing" "$(cat "$T/stdout")" \
    "install-deps: missing: no-such-package|nor-this-one"

printf 'no-such-package | -\ndpkg\n' >"$T/list"
exits "what the distribution does not have may be missing" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "and is not named" "$(cat "$T/stdout")" "install-deps: nothing is missing"
printf '#!/bin/sh\necho "  Candidate: 1.0"\n' >"$T/bin/apt-cache"
chmod +x "$T/bin/apt-cache"
exits "what it has may not" 1 env INSTALL_DEPS_LIST="$T/list" PATH="$T/bin:$PATH" "$install" --check

# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\necho "$*" >>"$T/apt"\n' >"$T/bin/apt-get"
chmod +x "$T/bin/apt-get"
printf '[build]\ndpkg\n[tests]\nno-such-package\n' >"$T/list"
exits "what only tests need" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --check
exits "is not needed for building" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --build --check
printf '[build]\ndpkg\n[tests]\ndpkg\n[packages]\nno-such-package\n' >"$T/list"
exits "what only packages need is not asked for" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --check
exits "unless it is" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --packages --check
printf '[build]\ndpkg\n[tests]\nno-such-package\n[packages]\nno-such-package\n[arm64]\nnor-this-one\n' >"$T/list"
exits "one section" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --build --arm64 --check
is "without those before it" "$(cat "$T/stdout")" "install-deps: missing: nor-this-one"
printf 'no-such-package | (sh)\n' >"$T/list"
exits "a command that is there will do" 0 env INSTALL_DEPS_LIST="$T/list" "$install" --check
printf 'no-such-package | (no-such-command)\n' >"$T/list"
exits "one that is not does not" 1 env INSTALL_DEPS_LIST="$T/list" "$install" --check
is "the package is named" "$(cat "$T/stdout")" "install-deps: missing: no-such-package"
exits "it is installed" 0 env INSTALL_DEPS_LIST="$T/list" PATH="$T/bin:$PATH" "$install"
contains "by apt-get" "$(cat "$T/apt")" "install -y --no-install-recommends no-such-package"
ok "which is not heard" test "$(wc -l <"$T/stdout")" -le 8
printf '#!/bin/sh\nexit 1\n' >"$T/bin/dpkg-query" # nothing is installed
chmod +x "$T/bin/dpkg-query"
printf 'prometheus\n' >"$T/list"
exits "a service comes with its package" 0 \
    env INSTALL_DEPS_LIST="$T/list" INSTALL_DEPS_UNITS="$T/units" PATH="$T/bin:$PATH" "$install"
is "and is not to start" "$(readlink "$T/units/prometheus.service")" /dev/null
rm "$T/bin/dpkg-query"
printf 'no-such-package | (no-such-command)\n' >"$T/list"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\ncase "$*" in *"install -y"*) echo "E: broken packages"; exit 100 ;; esac\n' >"$T/bin/apt-get"
exits "apt-get fails" 1 env INSTALL_DEPS_LIST="$T/list" PATH="$T/bin:$PATH" "$install"
contains "then it is heard" "$(cat "$T/stderr")" "E: broken packages"
contains "and named" "$(cat "$T/stderr")" "apt-get could not install: no-such-package"
printf '#!/bin/sh\ntrue\n' >"$T/bin/apt-cache"
printf 'ID=ubuntu\nVERSION_ID=24.04\n' >"$T/ubuntu"
exits "no such package in the lists" 4 \
    env INSTALL_DEPS_OS_RELEASE="$T/ubuntu" INSTALL_DEPS_LIST="$T/list" PATH="$T/bin:$PATH" "$install"
contains "Ubuntu has more of them elsewhere" "$(cat "$T/stderr")" "add-apt-repository universe"
printf '#!/bin/sh\ntrue\n' >"$T/bin/apt-get"
printf 'dpkg\nno-such-package | -\nnor-this-one\n' >"$T/list"
printf '#!/bin/sh\ncase "$*" in *nor*) echo "  Candidate: 1.0" ;; esac\n' >"$T/bin/apt-cache"
exits "what a distribution does not have" 0 \
    env INSTALL_DEPS_OS_RELEASE="$T/ubuntu" INSTALL_DEPS_LIST="$T/list" PATH="$T/bin:$PATH" "$install"
contains "is said once" "$(cat "$T/stdout")" "no package no-such-package here"

done_testing
