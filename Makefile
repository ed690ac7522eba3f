# make run    sets everything up, measures this machine for about 30 s under load, prints the verdict, writes report.html
# make setup  the part all share: .venv/bin/rtassay and the native probe, ready
# make check  lint, types, the tests of the C code, unit, contract and house tests (3 min): before a commit
# make test   that, and real runs on this machine, over SSH and on two kernels in QEMU (12 min): before a pull request
# make test-all  that, and what CONTRIBUTING.md lists: probes of all architectures, every board of the lab (an hour)
# make test-provoked  make test on a busy machine that stands still every half minute: what fails only here judges the machine
# make bench  the speed and size table of bench/RESULTS.md
# make coverage  does 95 % mean 95 %: simulated late activations, judged by the code here (minutes; writes bench/COVERAGE.md)
# make coverage-full  the same with more data and more cases, and of the extrapolation (hours; bench/COVERAGE-FULL.md, COVERAGE_TAIL.md)
# make probe CC=aarch64-linux-gnu-gcc   a probe by a compiler of yours (Yocto, Buildroot, Debian's cross ones), for RTASSAY_PROBE
# make probes the static probes of all architectures, for boards other than this machine
# make wheel  dist/: the wheel, with the static probes of all architectures, and the source archive
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

setup-all:
	@./tools/setup --all

run: setup
	@./tools/first-run

check: setup-test
	@$(PY) tools/run_tests.py check

test: setup-test
	@$(PY) tools/run_tests.py test

test-all: setup-all
	@$(PY) tools/run_tests.py all

test-provoked: setup-test
	@$(PY) tests/support/provoke.py -- $(PY) tools/run_tests.py test

bench: setup-test
	@$(PY) bench/run.py

coverage: setup-test
	@$(PY) tools/coverage/run.py

coverage-full: setup-test
	@kept=0; $(PY) tools/coverage/run.py --full || kept=$$?; $(PY) tools/coverage_tail.py --sets 1000 && exit $$kept

probe:
	@# -B: what another compiler left in there must not be linked in.
	@target=$$($(CC) -dumpmachine) && $(MAKE) --silent -B -C probe CC="$(CC)" BUILD="build/$$target" && \
		echo "probe/build/$$target/rtprobe; use it with RTASSAY_PROBE=$$PWD/probe/build/$$target/rtprobe"

probes: setup
	@$(PY) tools/build-probes

wheel: setup
	@rm -rf dist && $(PY) -m hatchling build -t sdist -t wheel -d "$$PWD/dist"

docs: setup
	@$(PY) tools/make_reference.py

lock:
	@./tools/lock

clean:
	rm -rf probe/build build dist report.html .pytest_cache .mypy_cache .ruff_cache

.PHONY: help setup setup-test setup-all run check test test-all test-provoked bench coverage coverage-full probe probes wheel docs lock clean
