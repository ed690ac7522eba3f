#!/usr/bin/env python3
"""Draws docs/architecture/*.svg from the real imports and includes. `--check`: fail if a picture is out of date.

A circle of imports or an arrow that points up is an error: nothing is drawn then.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "architecture"
PACKAGE = ROOT / "src" / "rtassay"
PROBE = ROOT / "probe" / "src"

FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "probe": (
        ("main",),
        ("commands",),
        ("methods", "guard", "sources", "follow"),
        ("carriers",),
        ("run",),
        ("stream",),
        ("os",),
    ),
    "analysis": (("many",), ("judge", "tail"), ("checks",), ("lane",)),
}
"""Floors from top to bottom. An arrow may only point to a lower floor; rooms of one floor do not know each other."""

DOORS = {
    "__main__": "cli",
    "__init__": "api",
    "runs": "api",
    "consoles": "api",
    "rankings": "api",
    "explaining": "api",
    "zooms": "api",
}
"""Single files that belong to a room."""

WORDS = {
    "cli": "one file per verb: it may import every room",
    "api": "the same from Python",
    "experiments": "matrix, order, journal",
    "session": "one run, in its order",
    "analysis": "findings, checks, verdicts",
    "causes": "traces to owners of late time",
    "reports": "report and export formats",
    "figures": "figures for papers",
    "store": "recordings on disk",
    "wire": "bytes to events",
    "probes": "ways to measure, host side",
    "boards": "transports to a board",
    "loads": "what keeps a board busy",
    "monitors": "what is watched meanwhile",
    "knobs": "settings that bear on latency",
    "importers": "files of other tools",
    "boot": "which kernel boots next",
    "lab": "virtual boards",
    "kernels": "builds of kernels",
    "published": "published results",
    "model": "dataclasses, units, errors: every room may import it",
    "main": "table of contents",
    "commands": "one file per command",
    "methods": "one file per way to measure",
    "guard": "ends everything in time",
    "carriers": "take a request to a thread",
    "sources": "what no file tells",
    "follow": "threads of other programs",
    "run": "lane, ring, histogram, writer, end",
    "stream": "frames and facts",
    "os": "clock, scheduling, /proc, options: every floor includes it",
    "many": "several recordings",
    "judge": "one recording to a verdict",
    "checks": "validity checks",
    "lane": "the numbers of one lane",
}  # fmt: skip


class NotAHouse(Exception):
    """The imports have a circle, or one of them points up."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Rooms and who imports whom. `soft`: arrows that reach nothing but a Protocol (`base.py`). `bars`: rooms that import, or
    are imported by, nearly everyone; they are drawn as a bar that lists the other ends, without arrows."""

    edges: frozenset[tuple[str, str]]
    soft: frozenset[tuple[str, str]] = frozenset()
    bars: tuple[str, ...] = ()

    @property
    def rooms(self) -> tuple[str, ...]:
        return tuple(sorted({room for edge in self.edges for room in edge}))


def imported_modules(path: Path) -> set[str]:
    """Modules of ours that a file imports, anywhere in it, without the leading `rtassay.`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            found |= {f"{name}.{alias.name}" for alias in node.names} if name == "rtassay" else {name}
    return {name.removeprefix("rtassay.") for name in found if name.startswith("rtassay.")}


@functools.cache
def package_graph() -> Graph:
    """The rooms of src/rtassay."""
    modules: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        room = DOORS.get(name, name)
        for module in imported_modules(path):
            other = DOORS.get(module.split(".")[0], module.split(".")[0])
            if other not in (room, "__version__"):
                modules[room, other].add(module)
    soft = {edge for edge, names in modules.items() if all(name.endswith(".base") for name in names)}
    return Graph(frozenset(modules), frozenset(soft), ("cli", "model"))


def floor_graph(
    files: Iterable[Path],
    room_of: Callable[[Path], str],
    targets: Callable[[Path], set[str]],
    bars: tuple[str, ...] = (),
) -> Graph:
    """The floors of one place, by folder."""
    edges = {(room_of(path), room) for path in files for room in targets(path)}
    return Graph(frozenset((a, b) for a, b in edges if a != b), bars=bars)


@functools.cache
def analysis_graph() -> Graph:
    """The floors of src/rtassay/analysis."""
    top = PACKAGE / "analysis"
    rooms = {room for floor in FLOORS["analysis"] for room in floor}

    def targets(path: Path) -> set[str]:
        found = {m.split(".")[1] for m in imported_modules(path) if m.startswith("analysis.")}
        return found & rooms

    files = [path for path in top.rglob("*.py") if path.relative_to(top).parts[0] in rooms]
    return floor_graph(files, lambda path: path.relative_to(top).parts[0], targets)


@functools.cache
def probe_graph() -> Graph:
    """The floors of probe/src, by what each file includes."""

    def room(path: Path) -> str:
        return path.relative_to(PROBE).parts[0].removesuffix(".c")

    def targets(path: Path) -> set[str]:
        found = set()
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            places = [(place / name).resolve() for place in (path.parent, PROBE)]
            found |= {room(place) for place in places if place.is_file() and place.is_relative_to(PROBE)}
        return found

    return floor_graph([*PROBE.rglob("*.c"), *PROBE.rglob("*.h"), *PROBE.rglob("*.def")], room, targets, ("os",))


GRAPHS: dict[str, Callable[[], Graph]] = {"rooms": package_graph, "analysis": analysis_graph, "probe": probe_graph}


def depths(graph: Graph) -> dict[str, int]:
    """How many floors lie below each room. Raises NotAHouse with the circle if there is one."""
    below: dict[str, set[str]] = defaultdict(set)
    for a, b in graph.edges:
        below[a].add(b)
    found: dict[str, int] = {}

    def depth(room: str, way: tuple[str, ...]) -> int:
        if room in way:
            raise NotAHouse(f"circle: {' -> '.join((*way[way.index(room) :], room))}")
        if room not in found:
            found[room] = max((depth(other, (*way, room)) + 1 for other in sorted(below[room])), default=0)
        return found[room]

    for room in graph.rooms:
        depth(room, ())
    return found


def planned_depths(graph: Graph, floors: Sequence[Sequence[str]]) -> dict[str, int]:
    """The same where the floors are written down. Raises NotAHouse for an arrow that does not point down."""
    found = {room: len(floors) - 1 - i for i, floor in enumerate(floors) for room in floor}
    unknown = set(graph.rooms) - set(found)
    if unknown:
        raise NotAHouse(f"no floor is written down for {', '.join(sorted(unknown))}")
    wrong = sorted(f"{a} -> {b}" for a, b in graph.edges if found[a] <= found[b])
    if wrong:
        raise NotAHouse(f"arrows that do not point down: {', '.join(wrong)}")
    return found


BOX_W, BOX_H, GAP_X, GAP_Y, MARGIN = 188, 46, 26, 64, 24
STYLE = """<style>
text{font-family:DejaVu Sans,Verdana,sans-serif;fill:#1b2733}.n{font-size:14px;font-weight:bold}.w{font-size:10.5px;fill:#4a5a68}
.b{fill:#eef3f8;stroke:#5b7c99;stroke-width:1.2}.g{fill:#dde7dd;stroke:#6b8f6b}.e{fill:none;stroke:#5b6b78;stroke-width:1.3}
.s{stroke-dasharray:5 3;stroke:#9a7b3f}.l{stroke:#9fb0bf;stroke-dasharray:3 4}.m{font-size:11.5px;paint-order:stroke;stroke:#fff;stroke-width:4px}
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5b6b78"/></marker></defs>"""


def svg(width: float, height: float, body: Iterable[str]) -> str:
    """A picture on white."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
    return "\n".join([head, STYLE, '<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>", ""])


def box(name: str, x: float, y: float, width: float, kind: str = "b") -> str:
    """A room with its name and what it is for."""
    middle = x + width / 2
    return (
        f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX_H}" rx="5"/>'
        f'<text class="n" x="{middle:.0f}" y="{y + 19:.0f}" text-anchor="middle">{escape(name)}</text>'
        f'<text class="w" x="{middle:.0f}" y="{y + 35:.0f}" text-anchor="middle">{escape(WORDS.get(name, ""))}</text>'
    )


Point = tuple[float, float]


def rows_of(edges: Iterable[tuple[str, str]], depth: dict[str, int]) -> list[list[str]]:
    """Rooms by floor from the top; an arrow over several floors gets an empty place `a|b|floor` on each between. Each
    floor is ordered by the middle of its neighbours, so that few arrows cross."""
    top = max(depth.values())
    rows: list[list[str]] = [sorted(r for r in depth if depth[r] == top - i) for i in range(top + 1)]
    links: dict[str, set[str]] = defaultdict(set)
    for a, b in sorted(edges):
        chain = [a, *(f"{a}|{b}|{d}" for d in range(depth[a] - 1, depth[b], -1)), b]
        for place in chain[1:-1]:
            rows[top - int(place.rsplit("|", 1)[1])].append(place)
        for one, other in itertools.pairwise(chain):
            links[one].add(other)
            links[other].add(one)
    for turn in range(24):
        order = range(1, len(rows)) if turn % 2 == 0 else range(len(rows) - 2, -1, -1)
        for i in order:
            beside = rows[i - 1] if turn % 2 == 0 else rows[i + 1]
            at = {room: (k + 0.5) / len(beside) for k, room in enumerate(beside)}
            own = {room: (k + 0.5) / len(rows[i]) for k, room in enumerate(rows[i])}

            def middle(room: str, at: dict[str, float] = at, own: dict[str, float] = own) -> float:
                near = [at[other] for other in links[room] if other in at]
                return sum(near) / len(near) if near else own[room]

            rows[i].sort(key=lambda room: (middle(room), room))
    return rows


def places(rows: Sequence[Sequence[str]]) -> tuple[dict[str, Point], float]:
    """Left upper corner of every room and empty place, and the width of it all."""
    widths = [sum((BOX_W if "|" not in r else 14) + GAP_X for r in row) - GAP_X for row in rows]
    full = max(widths)
    found = {}
    for i, row in enumerate(rows):
        spare = (full - widths[i]) / (len(row) + 1)
        x = MARGIN + spare
        for room in row:
            found[room] = (x, MARGIN + i * (BOX_H + GAP_Y))
            x += (BOX_W if "|" not in room else 14) + GAP_X + spare * (len(row) > 1)
    return found, full + 2 * MARGIN


def arrow(points: Sequence[Point], a: str, b: str, soft: bool) -> str:
    """A smooth line through the points, straight down at each."""
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        bend = (y1 - y0) / 2
        path += f"C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"
    kind = "e s" if soft else "e"
    return f'<path class="{kind}" data-from="{a}" data-to="{b}" marker-end="url(#a)" d="{path}"/>'


def bar(graph: Graph, name: str, y: float, width: float) -> str:
    """A room over the whole width; `data-imports` and `data-imported-by` list its edges."""
    over = " ".join(sorted(b for a, b in graph.edges if a == name))
    under = " ".join(sorted(a for a, b in graph.edges if b == name))
    drawing = box(name, MARGIN, y, width - 2 * MARGIN, "b g")
    return f'<g data-bar="{name}" data-imports="{over}" data-imported-by="{under}">{drawing}</g>'


def drawn(name: str) -> str:
    """The picture of one graph. An edge is a path with `data-from` and `data-to`, or stands in the lists of a bar."""
    graph = GRAPHS[name]()
    full = planned_depths(graph, FLOORS[name]) if name in FLOORS else depths(graph)
    edges = {(a, b) for a, b in graph.edges if a not in graph.bars and b not in graph.bars}
    rest = full if name in FLOORS else depths(Graph(frozenset(edges)))
    depth = {room: rest.get(room, 0) for room in graph.rooms if room not in graph.bars}
    least = min(depth.values())
    depth = {room: d - least for room, d in depth.items()}
    rows = rows_of(edges, depth)
    at, width = places(rows)
    above = [room for room in graph.bars if all(room != b for _, b in graph.edges)]
    top = MARGIN + (BOX_H + MARGIN) * len(above)
    at = {room: (x, y + top - MARGIN) for room, (x, y) in at.items()}
    body = [*arrows(edges, graph.soft, depth, at)]
    body += [box(room, *at[room], BOX_W) for row in rows for room in row if "|" not in room]
    height = top + len(rows) * (BOX_H + GAP_Y) - GAP_Y + MARGIN
    for room in graph.bars:
        body.append(bar(graph, room, MARGIN if room in above else height, width))
        height += 0 if room in above else BOX_H + MARGIN
    if graph.soft:
        words = "solid: imports; dashed: imports the Protocol in base.py only"
        body.append(f'<text class="m" x="{MARGIN}" y="{height:.0f}">{words}</text>')
        height += MARGIN / 2
    return svg(width, height, body)


def arrows(
    edges: Iterable[tuple[str, str]], soft: frozenset[tuple[str, str]], depth: dict[str, int], at: dict[str, Point]
) -> list[str]:
    """All edges; those that leave or reach one room are spread over its width in the order of where they come from."""
    chains = {(a, b): [a, *(f"{a}|{b}|{d}" for d in range(depth[a] - 1, depth[b], -1)), b] for a, b in sorted(edges)}
    leaving: dict[str, list[str]] = defaultdict(list)
    reaching: dict[str, list[str]] = defaultdict(list)
    for (a, b), chain in chains.items():
        leaving[a].append(chain[1])
        reaching[b].append(chain[-2])

    def port(room: str, other: str, sides: dict[str, list[str]]) -> float:
        order = sorted(sides[room], key=lambda place: at[place][0])
        return at[room][0] + BOX_W * (order.index(other) + 1) / (len(order) + 1)

    found = []
    for (a, b), chain in chains.items():
        points = [(port(a, chain[1], leaving), at[a][1] + BOX_H)]
        for place in chain[1:-1]:
            x, y = at[place]
            points += [(x + 7, y), (x + 7, y + BOX_H)]
        points.append((port(b, chain[-2], reaching), at[b][1] - 1))
        found.append(arrow(points, a, b, (a, b) in soft))
    return found


ACTORS = ("person", "cli", "session", "board", "guard", "rtprobe", "store", "analysis", "reports")
STEPS: tuple[tuple[str, str, str], ...] = (
    ("person", "cli", "rtassay run BOARD --deadline 100us"),
    ("cli", "session", "plan"),
    ("session", "board", "open: contact, lease, copy the program"),
    ("session", "board", "read the inventory"),
    ("session", "store", "create the recording (manifest)"),
    ("session", "guard", "launch each process under a guard"),
    ("guard", "rtprobe", "watch: monitors"),
    ("guard", "rtprobe", "loads, warm-up"),
    ("guard", "rtprobe", "measure"),
    ("rtprobe", "session", "streams: facts, samples, seconds, end"),
    ("session", "store", "raw bytes first, then rollups"),
    ("session", "guard", "end loads and monitors"),
    ("session", "store", "seal: Parquet after counts and hash agree"),
    ("session", "board", "put back, remove our files"),
    ("cli", "store", "read the recording"),
    ("cli", "analysis", "judge"),
    ("analysis", "cli", "findings, checks, verdict"),
    ("cli", "reports", "render"),
    ("cli", "person", "verdict, exit code"),
)
"""One run, step by step: (who, whom, what)."""


def sequence() -> str:
    """One run as a sequence, time downwards."""
    step, row, top = 132.0, 34.0, 70.0
    x = {name: MARGIN + 60 + i * step for i, name in enumerate(ACTORS)}
    height = top + row * (len(STEPS) + 1)
    body = []
    for name in ACTORS:
        body.append(f'<path class="e l" d="M{x[name]:.0f} {top - 10:.0f}V{height - 12:.0f}"/>')
        body.append(f'<rect class="b" x="{x[name] - 54:.0f}" y="{MARGIN}" width="108" height="30" rx="5"/>')
        body.append(f'<text class="n" x="{x[name]:.0f}" y="{MARGIN + 20}" text-anchor="middle">{name}</text>')
    for i, (a, b, what) in enumerate(STEPS):
        y = top + row * (i + 0.8)
        left = min(x[a], x[b])
        body.append(f'<path class="e" marker-end="url(#a)" d="M{x[a]:.0f} {y:.0f}H{x[b]:.0f}"/>')
        body.append(f'<text class="m" x="{left + 6:.0f}" y="{y - 5:.0f}">{i + 1}. {escape(what)}</text>')
    return svg(x[ACTORS[-1]] + 60 + MARGIN, height, body)


def pictures() -> dict[Path, str]:
    """All pictures as they should be."""
    found = {PICTURES / f"{name}.svg": drawn(name) for name in GRAPHS}
    return {**found, PICTURES / "run.svg": sequence()}


def main(argv: Sequence[str]) -> int:
    """Write the pictures, or with --check compare them."""
    try:
        wanted = pictures()
    except NotAHouse as error:
        print(f"draw_architecture: {error}", file=sys.stderr)
        return 1
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run tools/draw_architecture.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
