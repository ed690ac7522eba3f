"""The lab: real Debian kernels, stock and PREEMPT_RT, in QEMU. One board at a time for a worker, ended whatever the tests do."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode has no sibling imports

from probe_build import build
from vboard import Board, Rack, Setup

ROOT = Path(__file__).parents[2]
RACK: pytest.StashKey[Rack] = pytest.StashKey()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The lab's tests, wherever they stand among the others, in groups of one setup: a boot is the dearest thing here.
    The groups come in the order in which the test file names their setups first."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    groups = list(dict.fromkeys(_setup_of(items[place]) for place in places))
    grouped = sorted((items[place] for place in places), key=lambda item: groups.index(_setup_of(item)))
    for place, item in zip(places, grouped, strict=True):
        items[place] = item


def _setup_of(item: pytest.Item) -> Setup | None:
    parameters = getattr(item, "callspec", None)
    return parameters.params.get("setup") if parameters else None


@pytest.fixture(scope="session")
def probes() -> dict[str, Path]:
    """The static rtprobe as `make` builds it, and a 32-bit one, by the name they get on a board."""
    made = {}
    for name, target in {"rtprobe": "build/rtprobe", "rtprobe32": "m32"}.items():
        build(["make", "--silent", "-C", "probe", target])
        made[name] = ROOT / "probe" / ("build/m32" if target == "m32" else "build") / "rtprobe"
    return made


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A worker that goes on with other tests ends its board, which would take a tenth of a CPU from them until the end."""
    rack = item.config.stash.get(RACK, None)
    if rack is not None and (nextitem is None or nextitem.path.parent != Path(__file__).parent):
        rack.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """What a board's kernel wrote on its console is shown with the test that failed on it: a lost link has its reason there."""
    outcome = yield
    report = outcome.get_result()
    rack = item.config.stash.get(RACK, None)
    if report.when == "call" and report.failed and rack is not None:
        report.sections.append(("the board, after the test", rack.state()))


@pytest.fixture(scope="session")
def rack(probes: dict[str, Path], pytestconfig: pytest.Config) -> Iterator[Rack]:
    """Where boards come from: powered on, reachable, possibly used by the test before."""
    rack = pytestconfig.stash[RACK] = Rack(probes)
    try:
        yield rack
    finally:
        rack.clear()


@pytest.fixture
def board(rack: Rack, setup: Setup) -> Board:
    """The running board of the setup a test is parametrized with."""
    return rack.board(setup)
