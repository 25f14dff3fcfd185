# Two commands do everything on a fresh Debian 12 machine, as root or with sudo:
#   make demo    install what is missing, build, run on simulated engines
#   make test    install, build, pass the tests
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: help deps deps-test build demo test asan tsan e2e lint bench fuzz-smoke chart-checks clean

JOBS ?= $(shell nproc)
DEMO_SECONDS ?= 0
FUZZ_SECONDS ?= 20

help: ## this text
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

deps: ## install what building needs (Debian packages)
	@tools/install-deps.sh build

deps-test:
	@tools/install-deps.sh test

build: deps ## build/release/loadline
	@cmake --preset release >build-release.log 2>&1 || { cat build-release.log; rm -f build-release.log; exit 1; }
	@rm -f build-release.log
	cmake --build build/release --target loadline engine_fleet -j $(JOBS)

demo: build ## the main job on simulated engines; DEMO_SECONDS=20 to end by itself sooner
	build/release/loadline demo --duration $(DEMO_SECONDS)s

test: deps-test build ## every unit and contract test, optimised build
	cmake --build build/release -j $(JOBS)
	ctest --test-dir build/release --output-on-failure -j $(JOBS) --schedule-random

asan: deps-test ## the same under AddressSanitizer and UBSan, g++ 12
	cmake --preset asan >/dev/null
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS)

# The loops are the only threads: the whole product on simulated engines, and the tests of what bridges them.
tsan: deps-test ## both loops at work under ThreadSanitizer
	cmake --preset tsan >/dev/null
	cmake --build build/tsan -j $(JOBS) --target loadline unit_base unit_cmd
	ctest --test-dir build/tsan/tests/unit/base --output-on-failure -j $(JOBS)
	ctest --test-dir build/tsan/tests/unit/cmd --output-on-failure -j $(JOBS)
	TSAN_OPTIONS=halt_on_error=1 build/tsan/loadline demo --duration 15s

e2e: deps-test build ## a real control plane and a real HPA; skips loudly without its binaries
	tests/e2e/run.sh

lint: deps-test ## format, coroutine rule, banned names, shell and YAML
	tools/lint.sh

bench: deps-test ## ratios, in one run
	cmake --preset release >/dev/null
	cmake --build build/release -j $(JOBS)
	tools/bench.sh

fuzz-smoke: deps-test ## every fuzz target for FUZZ_SECONDS
	cmake --preset fuzz >/dev/null
	cmake --build build/fuzz -j $(JOBS) --target fuzz_all
	tools/fuzz-smoke.sh $(FUZZ_SECONDS)

chart-checks: ## helm lint and render; skips loudly without helm
	tools/check-charts.sh

clean: ## remove build/
	rm -rf build
