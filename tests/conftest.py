"""For every tier: no test is judged by how long the machine took, Ctrl-C reaches what a test starts, and pytest-xdist's workers share
no board, no CPU to hog and no fixture that is dear to make."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("rtassay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rtassay")

TESTS = Path(__file__).parent
# Tests below these paths run one after the other, on one worker.
GROUPS = {
    "lab": "lab",  # one virtual board at a time, and each boot serves many tests
    "flow/test_what_broke_it.py": "exclusive",
}
# The longest groups first: what is left for the end is short.
ORDER = ("lab", "flow", "unit/boards", "unit/probe", "contract")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts what it puts in the background with SIGINT ignored, and every child inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group for `--dist loadgroup`, and put the dear tests in front."""
    for item in items:
        if group := _group_of(item):
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=_place_of)


def _group_of(item: pytest.Item) -> str | None:
    place = item.path.relative_to(TESTS).as_posix()
    for path, group in GROUPS.items():
        if place == path or place.startswith(f"{path}/"):
            return group
    if item.get_closest_marker("exclusive"):
        return "exclusive"
    return place if _shares_a_fixture(item) else None


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a fixture of a test file is made once for the file: another worker would make it again."""
    made = getattr(item, "_fixtureinfo", None)
    definitions = [] if made is None else [last[-1] for last in made.name2fixturedefs.values()]
    return any(one.scope == "module" and one.baseid.startswith("tests/") for one in definitions)


def _place_of(item: pytest.Item) -> int:
    place = item.path.relative_to(TESTS).as_posix()
    return next((at for at, path in enumerate(ORDER) if place.startswith(f"{path}/")), len(ORDER))
