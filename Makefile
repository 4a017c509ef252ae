# SPDX-License-Identifier: Apache-2.0
# A short front for meson. `make help` lists what there is.

BUILD ?= build
MESON_FLAGS ?=
FUZZ_SECONDS ?= 60
HOSTILE_SECONDS ?= 600
HOSTILE_WAYS ?=
SOAK_SECONDS ?= 600
LEAVE_OUT ?=
SANITIZE_CC ?= clang
DIST ?= dist
PACKAGE_BUILD = $(if $(filter aarch64,$(ARCH)),build-arm64,build-package)
OLD_ROOT ?=
ARCH ?=
ARM64_ROOT ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/inferogram/arm64
, := ,

SCRIPTS = $(shell git ls-files -co --exclude-standard -z | xargs -0 grep -lsE '^\#!/(bin/sh|bin/bash|usr/bin/env bash)')
C_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp')

# $(call configure,DIRECTORY,FLAGS): the first time, and when a folder got its first meson.build.
define configure
@command -v meson >/dev/null && command -v ninja >/dev/null || \
	{ echo "meson or ninja is missing; run: sudo tools/install-deps" >&2; exit 4; }
@if test ! -f $(1)/build.ninja; then meson setup $(1) $(2) $(MESON_FLAGS); \
elif test -n "$$(find src bindings man tests examples benchmarks -name meson.build -newer $(1)/build.ninja 2>/dev/null)"; \
then meson setup --reconfigure $(1) >/dev/null; fi || \
	{ echo "Could not configure; if something is missing, run: sudo tools/install-deps" >&2; exit 1; }
endef

.PHONY: all ui demo test test-bindings check install bench asan tsan clang fuzz hostile soak format lint clean help arm64 test-arm64
.PHONY: package-build package-tree tarball wheel deb rpm dist release-check

all: ui ## build into build/
	$(call configure,$(BUILD))
	@ninja -C $(BUILD)

ui: ## the page of `inferogram serve`, into ui/dist/; all builds take it from there
	@tools/build-ui

demo: ## install what building needs, build, record and report a real model
	@tools/install-deps --build
	@tools/build-ui
	$(call configure,$(BUILD))
	@ninja -C $(BUILD) program
	@BUILD=$(BUILD) tools/demo

test: ## install what is missing, build, run every test
	@tools/install-deps
	@$(MAKE) --no-print-directory all
	@tools/run-tests -C $(BUILD) --require tools

check: test ## the same as test

test-bindings: ui ## the bindings for Rust and Go, which need cargo and go (some 300 MB each, so that `make test` does not)
	$(call configure,$(BUILD))
	@ninja -C $(BUILD) program
	@for name in rust go; do \
		TAP_SH=$(CURDIR)/tests/lib/tap.sh SOURCE_DIR=$(CURDIR) BUILD_DIR=$(abspath $(BUILD)) \
		INFEROGRAM=$(abspath $(BUILD))/src/cli/inferogram sh tests/bindings/$$name.sh || exit 1; \
	done

install: all ## install; PREFIX and DESTDIR are honoured
	@$(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(PREFIX))
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

bench: all ## measure our own overhead
	@BUILD=$(BUILD) benchmarks/run

asan: export CC = $(SANITIZE_CC)
asan: ui ## under AddressSanitizer and UBSan, in build-asan/: all tests but those of attaching, corpora (make fuzz) and LEAVE_OUT=SUITES
	$(call configure,build-asan,-Db_sanitize=address$(,)undefined -Db_lundef=false)
	@ninja -C build-asan
	@tools/run-tests -C build-asan --slow 4 --no-aslr --no-suite attach-long --no-suite once --no-suite fuzz-replay $(LEAVE_OUT:%=--no-suite %)

tsan: export CC = $(SANITIZE_CC)
tsan: ui ## the suites unit, client and record under ThreadSanitizer, in build-tsan/; not what has one thread
	$(call configure,build-tsan,-Db_sanitize=thread -Db_lundef=false)
	@ninja -C build-tsan
	@tools/run-tests -C build-tsan --slow 8 --no-aslr --suite unit --suite client --suite record --no-suite attach-long --no-suite once --no-suite one-thread

clang: export CC = clang
clang: export CXX = clang++
clang: ui ## compiled by clang, in build-clang/: the suites unit, client and cli
	$(call configure,build-clang)
	@ninja -C build-clang
	@tools/run-tests -C build-clang --suite unit --suite client --suite cli --no-suite attach-long --no-suite once

fuzz: export CC = clang
fuzz: ui ## every fuzz target for FUZZ_SECONDS (60), in build-fuzz/
	$(call configure,build-fuzz,-Dfuzz=true -Db_sanitize=address$(,)undefined -Db_lundef=false)
	@ninja -C build-fuzz fuzz
	@tools/run-fuzz build-fuzz $(FUZZ_SECONDS)

hostile: export CC = $(SANITIZE_CC)
hostile: ui ## programs that forge what root's recorder reads of them, HOSTILE_SECONDS (600) each of HOSTILE_WAYS (all), in build-asan/
	$(call configure,build-asan,-Db_sanitize=address$(,)undefined -Db_lundef=false)
	@ninja -C build-asan program hostile-programs
	@tools/run-hostile build-asan $(HOSTILE_SECONDS) $(HOSTILE_WAYS)

soak: all ## a flight recorder at 200,000 events a second for SOAK_SECONDS (600)
	@tools/run-soak $(BUILD) $(SOAK_SECONDS)

arm64: ui ## for arm64, in build-arm64/, on any machine: installs a cross compiler; headers and libraries go to ARM64_ROOT
	@tools/build-arm64 $(ARM64_ROOT) build-arm64

test-arm64: arm64 ## its unit tests, corpora, and the suites client and emulated, by qemu (slow)
	$(call configure,$(BUILD))
	@ninja -C $(BUILD) program
	@NATIVE_BUILD=$(abspath $(BUILD)) tools/emulate-arm64 $(ARM64_ROOT) tools/run-tests -C build-arm64 --slow 20 --suite unit --suite fuzz-replay --suite client --suite emulated

package-build: ui
ifeq ($(ARCH),aarch64)
	@tools/build-arm64 $(ARM64_ROOT) build-arm64 program
else
	$(call configure,$(PACKAGE_BUILD),-Dprefix=/usr)
endif

this_machine = $(if $(filter aarch64,$(ARCH)),echo "make $(1): not for ARCH=aarch64; the wheel and the tarball are" >&2; exit 2)

# What carries its libraries with it. OLD_ROOT=FOLDER: built there, in an older distribution, for an older glibc.
package-tree: $(if $(OLD_ROOT),ui,package-build)
	@rm -rf $(PACKAGE_BUILD)/tree $(PACKAGE_BUILD)/tree.abi3.so
	@$(if $(OLD_ROOT),tools/package-root $(OLD_ROOT),tools/package-tree $(if $(filter aarch64,$(ARCH)),--root $(ARM64_ROOT)) $(PACKAGE_BUILD)) $(PACKAGE_BUILD)/tree
	@$(if $(OLD_ROOT),,find $(PACKAGE_BUILD)/bindings -name _native.abi3.so -exec cp {} $(PACKAGE_BUILD)/tree.abi3.so \; 2>/dev/null || true)

tarball: package-tree ## a tree that runs wherever it is unpacked, into dist/; OLD_ROOT=FOLDER builds it for an older glibc, ARCH=aarch64 for arm64
	@tools/package-tarball $(PACKAGE_BUILD)/tree $(DIST)

wheel: package-tree ## the same for pip, with the Python package
	@tools/package-wheel $(PACKAGE_BUILD)/tree $(DIST) $$(ls $(PACKAGE_BUILD)/tree.abi3.so 2>/dev/null)

rpm: package-tree ## the same for rpm
	@$(call this_machine,rpm)
	@tools/package-rpm $(PACKAGE_BUILD)/tree $(DIST)

deb: package-build ## packages for this Debian or Ubuntu
	@$(call this_machine,deb)
	@tools/package-deb $(PACKAGE_BUILD) $(DIST)

dist: tarball wheel rpm deb ## all packages, with their checksums
	@cd $(DIST) && sha256sum *.tar.gz *.whl *.rpm *.deb >SHA256SUMS && ls -l

release-check: ## what must be true of a release: version, changelog, ABI, old traces, packages of dist/ on bare systems (root, slow)
	@tools/release-check $(DIST) $(PACKAGE_BUILD)

format: ## put all C files in form
	@clang-format -i $(C_FILES)

lint: ## form, style, layers, scripts
	@clang-format --dry-run -Werror $(C_FILES)
	@tools/check-style
	@tools/check-layers
	@tools/check-ui-layers
	@if test -d ui/node_modules; then cd ui && node_modules/.bin/tsc --noEmit; fi
	@shellcheck $(SCRIPTS)

clean: ## delete all build directories
	@rm -rf build build-* dist ui/dist ui/dist-tests

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24
