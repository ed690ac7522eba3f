"""The pictures of docs/architecture.md show the imports there are: every one of them, no other, no circle and none that points up."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_architecture", ROOT / "tools" / "draw_architecture.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DRAW = tool()
Edges = set[tuple[str, str]]


def edges_of(picture: str) -> Edges:
    """What a picture says: its arrows, and the lists of its bars."""
    found = set(re.findall(r'data-from="([^"]+)" data-to="([^"]+)"', picture))
    for name, over, under in re.findall(
        r'data-bar="([^"]+)" data-imports="([^"]*)" data-imported-by="([^"]*)"', picture
    ):
        found |= {(name, other) for other in over.split()} | {(other, name) for other in under.split()}
    return found


@pytest.mark.parametrize("name", sorted(DRAW.GRAPHS))
def test_a_picture_shows_the_imports_there_are(name: str) -> None:
    shown = edges_of((ROOT / "docs" / "architecture" / f"{name}.svg").read_text())
    real = set(DRAW.GRAPHS[name]().edges)
    assert shown == real, "run tools/draw_architecture.py"


@pytest.mark.parametrize("name", sorted(DRAW.GRAPHS))
def test_no_circle_and_no_arrow_up(name: str) -> None:
    graph = DRAW.GRAPHS[name]()
    below = DRAW.depths(graph)
    assert all(below[a] > below[b] for a, b in graph.edges)
    if name in DRAW.FLOORS:
        DRAW.planned_depths(graph, DRAW.FLOORS[name])


def test_a_circle_and_an_arrow_up_are_found() -> None:
    circle = DRAW.Graph(frozenset({("a", "b"), ("b", "c"), ("c", "a")}))
    with pytest.raises(DRAW.NotAHouse, match="circle"):
        DRAW.depths(circle)
    upwards = DRAW.Graph(frozenset({("lane", "checks")}))
    with pytest.raises(DRAW.NotAHouse, match="lane -> checks"):
        DRAW.planned_depths(upwards, DRAW.FLOORS["analysis"])


def test_all_pictures_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/draw_architecture.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_room_stands_in_the_table() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {room for room in DRAW.package_graph().rooms if room != "api"}
    missing = {room for room in rooms if f"`src/rtassay/{room}`" not in page}
    floors = {f"`probe/src/{path.name}`" for path in (ROOT / "probe" / "src").iterdir() if path.is_dir()}
    assert not missing and all(floor in page for floor in floors)
