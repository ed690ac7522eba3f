# make run    sets everything up, measures this machine for about 30 s under load, prints the verdict, writes report.html
# make test   sets everything up, runs every test
# make test-lab  the whole lab: also a Debian disk behind GRUB, rebooted between its kernels (many minutes)
# make setup  the part both share: .venv/bin/rtassay and the native probe, ready
# make check  lint, types and the quick tests, before a commit
# make bench  the speed and size table of bench/RESULTS.md
# make probe CC=aarch64-linux-gnu-gcc   a probe by a compiler of yours (Yocto, Buildroot, Debian's cross ones), for RTASSAY_PROBE
# make probes the static probes of all architectures, for boards other than this machine
# make docs   the generated pages of docs/reference

SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python

help:
	@sed -n 's/^# //p' Makefile

setup:
	@./tools/setup

setup-test:
	@./tools/setup --test

run: setup
	@./tools/first-run

test: setup-test
	@./tools/test

test-lab: setup-test
	@./tools/setup --lab
	@./tools/test --lab

check: setup-test
	@./tools/test --quick

bench: setup-test
	@$(PY) bench/run.py

probe:
	@# -B: what another compiler left in there must not be linked in.
	@target=$$($(CC) -dumpmachine) && $(MAKE) --silent -B -C probe CC="$(CC)" BUILD="build/$$target" && \
		echo "probe/build/$$target/rtprobe; use it with RTASSAY_PROBE=$$PWD/probe/build/$$target/rtprobe"

probes: setup
	@$(PY) tools/build-probes

docs: setup
	@$(PY) tools/make_reference.py

lock:
	@./tools/lock

clean:
	rm -rf probe/build build dist report.html .pytest_cache .mypy_cache .ruff_cache

.PHONY: help setup setup-test run test test-lab check bench probe probes docs lock clean
