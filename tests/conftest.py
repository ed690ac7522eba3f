"""For every tier: no test is judged by how long the machine took, Ctrl-C reaches what a test starts, and pytest-xdist's workers share
no board, no CPU to hog and no fixture that is dear to make."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("rtassay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Of `make check`: a test that states its own number of examples keeps it.
settings.register_profile("few", settings.get_profile("rtassay"), max_examples=25)
settings.load_profile("rtassay")
gc.disable()  # until all is collected: thousands of tests, none of them garbage

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "support"))  # pytest's importlib mode has no sibling imports
# Tests whose id begins so run one after the other, on one worker.
GROUPS = {
    # A worker has one virtual board at a time, and each boot serves many tests; one worker has the boards with a stock kernel, or they would
    # end last (group_of).
    "lab/test_bad_days.py": "lab, bad days",
    "lab/test_freertos.py": "lab, virtual time",
    "lab/test_script_board.py": "lab, virtual time",
    "lab/test_gate.py": "lab, virtual time",
    "lab/test_virtual_time_on_a_busy_host.py": "lab, virtual time",
    # They wait for kernels that are being built, over an hour in all.
    "lab/test_kernels_built_here.py": "lab, kernels",
    "lab/test_a_made_card_boots.py": "lab, kernels",
    "lab/": "lab",
    # These hog a CPU, name the cause of a latency or change something of the whole machine: never two at once.
    "flow/test_what_broke_it.py": "exclusive",
    "flow/test_checks_live.py": "exclusive",
    "flow/test_isolated_at_run_time.py": "exclusive",
    "flow/test_monitors_live.py": "exclusive",
    "flow/test_cli.py::test_without_permission": "exclusive",  # on a CPU that a test of isolation takes away
    # Some set the machine's limit of real-time throttling for a while, others ask the kernel about it.
    "unit/probe/test_cyclic.py::test_a_hog_": "throttling",
    "unit/probe/test_describe.py::test_selftest": "throttling",
    "unit/probe/test_deadline_policy.py::test_more_than_the_kernel_admits": "throttling",
    # The pages name their boards: a second lab:quick would have another name.
    "flow/test_guides.py::test_the_commands_with_a_virtual_board": "boards of guides",
    "flow/test_guides_on_boards.py::test_the_page_of_two_kernels": "boards of guides",
    "flow/test_guides_on_boards.py::test_the_board_behind": "boards of guides",
    # What one worker has parsed, another would parse again.
    "house/test_architecture.py": "pictures",
    "house/test_structure.py": "imports",
}
STOCK = re.compile(r"\[(.*-)?stock[-\]]")
# The longest groups first: what is left for the end is short.
ORDER = ("lab", "flow", "unit/boards", "unit/probe", "house", "contract")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts what it puts in the background with SIGINT ignored, and every child inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Boards of the lab have their names there: a worker neither sees nor stops those of another one, or of a person.
    own = tempfile.mkdtemp(prefix="rtassay-run-", dir="/tmp")  # short: sockets lie in it
    os.environ["XDG_RUNTIME_DIR"] = own
    config.add_cleanup(functools.partial(shutil.rmtree, own, ignore_errors=True))
    if not hasattr(config, "workerinput"):  # once, not in each of xdist's workers
        from probe_build import build

        build(["make", "--silent", "-C", "probe"])  # rtassay refuses a probe that is older than its sources


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The dear tests first."""
    items.sort(key=_place_of)


def pytest_collection_finish() -> None:
    gc.freeze()  # no later collection looks at them again
    gc.enable()


def _place_of(item: pytest.Item) -> int:
    place = item.path.relative_to(TESTS).as_posix()
    return next((at for at, path in enumerate(ORDER) if place.startswith(f"{path}/")), len(ORDER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a group go to one worker, all others wherever there is time. (`--dist loadgroup` of pytest-xdist 3.8 does not group with
    pytest 9.2: it writes the group into a field of the item that nothing reads any more.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.removeprefix("tests/")) or nodeid

    return Grouped(config, log)


@functools.cache
def group_of(test: str) -> str | None:
    """The group of a test, by its id below tests/. A file with a fixture of its own for all its tests is one: another worker
    would make the fixture again."""
    for prefix, group in GROUPS.items():
        if test.startswith(prefix):
            return f"{group}, stock" if group == "lab" and STOCK.search(test) else group
    file = test.partition("::")[0]
    return file if 'scope="module"' in (TESTS / file).read_text() else None
