"""The walls of the house: who may import whom (docs/architecture.md), how long a file may be, what --help may load."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "rtassay"

# package -> what it may import of ours, as module prefixes. None: anything.
ALLOWED: dict[str, tuple[str, ...] | None] = {
    "model": (),
    "wire": ("model",),
    "analysis": ("model",),
    "causes": ("model",),
    "boards": ("model", "lab"),
    "boot": ("model", "wire", "boards.base"),
    "lab": ("model",),
    "kernels": ("model", "lab", "boot"),
    "gate": ("model", "wire", "lab", "kernels", "store", "causes"),
    "probes": ("model", "wire", "boards.base", "works.base"),
    "loads": ("model", "wire", "boards.base"),
    "works": ("model",),
    "monitors": ("model", "wire", "boards.base"),
    "knobs": ("model",),
    "importers": ("model", "wire", "probes"),
    "published": ("model",),
    "store": ("model", "wire", "causes"),
    "session": (
        "model",
        "wire",
        "store",
        "boards.base",
        "boards.consoles",
        "probes.base",
        "loads.base",
        "monitors.base",
        "knobs.base",
    ),
    "experiments": ("model", "store", "session", "boot.base", "probes.base"),
    "reports": ("model",),
    "figures": ("model",),
    "cli": None,
}
MAX_LINES = 600
FLOORS = {"analysis": ("lane", "checks", "judge", "tail", "many")}
"""package -> its floors, lowest first: a floor imports itself and those below."""


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """What most tests here look at: parsed once by a worker."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
    ]


@functools.cache
def our_imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, without the leading `rtassay.`; `from rtassay import store` counts as store."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            name = node.module or ""
            found |= {f"{name}.{alias.name}" for alias in node.names} if name == "rtassay" else {name}
    return {name.removeprefix("rtassay.") for name in found if name.startswith("rtassay.")}


def package_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SRC)))
def test_imports_go_one_way(path: Path) -> None:
    package = package_of(path)
    if package.endswith(".py"):
        return
    assert package in ALLOWED, f"package {package} has no line in ALLOWED: decide what it may import"
    allowed = ALLOWED[package]
    if allowed is None:
        return
    own = (package, *allowed, "__version__")
    wrong = {n for n in our_imports(path) if not any(n == a or n.startswith(a + ".") for a in own)}
    assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}; {package} may import {sorted(own)}"


@pytest.mark.parametrize("package", FLOORS)
def test_floors_import_downwards(package: str) -> None:
    floors = FLOORS[package]
    for path in sorted((SRC / package).rglob("*.py")):
        inside = path.relative_to(SRC / package).parts
        if inside == ("__init__.py",):
            allowed: tuple[str, ...] = ()
        else:
            assert inside[0] in floors, f"{path} stands on no floor of {package}"
            allowed = floors[: floors.index(inside[0]) + 1]
        used = {name.split(".")[1] for name in our_imports(path) if name.startswith(f"{package}.")}
        assert used <= set(allowed), f"{path.relative_to(ROOT)} imports {sorted(used - set(allowed))} from above"


def test_nobody_imports_the_command_line() -> None:
    for path in modules():
        if package_of(path) not in ("cli", "__main__.py"):
            assert not {n for n in our_imports(path) if n.split(".")[0] == "cli"}, path


def test_only_the_command_line_imports_the_python_api() -> None:
    for path in modules():
        if package_of(path) not in ("cli", "__init__.py", "api.py", "zooms.py"):  # a zoom is a run, too
            assert not {"api", "runs", "consoles", "zooms"} & {n.split(".")[0] for n in our_imports(path)}, path


def test_figures_never_touch_pyplot() -> None:
    for path in modules():
        for node in nodes(path):
            names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not any("pyplot" in name for name in (*names, module)), path


@pytest.mark.parametrize(
    "used", ["pass", "rtassay.open", "import rtassay.api", "import rtassay.cli.figure, rtassay.cli.table"]
)
def test_import_rtassay_loads_nothing_heavy(used: str) -> None:
    code = f"import sys, rtassay; {used}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not (HEAVY - {"asyncio"}) & set(done.stderr.split())


def test_the_model_imports_the_standard_library_only() -> None:
    for path in (SRC / "model").glob("*.py"):
        for node in nodes(path):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                root = name.split(".")[0]
                assert root == "rtassay" or root in sys.stdlib_module_names, f"{path} imports {name}"


def test_library_code_neither_prints_nor_exits() -> None:
    for path in modules():
        if package_of(path) in ("cli", "__main__.py"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "sys.exit", "exit", "os._exit"), f"{path}:{node.lineno} calls {called}"


UNTYPED = re.compile(r"\b(?:manifest\.(?:facts|end|inventory|inventory_end)|(?:note|event)\.data)(?:\.get\(|\[)")
# Parsers and importers make this JSON. One rewrites END for a part of a recording, one shows each name of an inventory as it is.
OF_JSON = ("importers", "probes", "wire", "cli/import_.py", "store/parts.py", "reports/recording/conditions.py")


def test_what_a_probe_or_a_board_told_is_read_as_typed_values() -> None:
    """`manifest.probe_facts`, `probe_end`, `board_start`, `board_end`; a view of `model.notes` for an event."""
    untyped = {
        str(path.relative_to(SRC))
        for path in modules()
        if not str(path.relative_to(SRC)).startswith(OF_JSON) and UNTYPED.search(path.read_text())
    }
    assert not untyped


def test_no_file_is_too_long() -> None:
    files = [*modules(), *(ROOT / "probe" / "src").rglob("*.[ch]"), *(ROOT / "tests").rglob("*.py")]
    long = {str(f.relative_to(ROOT)): n for f in files if (n := len(f.read_text().splitlines())) > MAX_LINES}
    assert not long


HEAVY = {"numpy", "scipy", "pyarrow", "matplotlib", "rich", "jinja2", "msgspec", "asyncio", "sqlite3"}


@pytest.mark.parametrize("argv", [["--help"], ["--version"]])
def test_help_loads_nothing_heavy(argv: list[str]) -> None:
    code = f"import sys; from rtassay.cli.main import run; run({argv!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stderr.split())


def test_run_help_loads_neither_numpy_nor_pyarrow() -> None:
    code = "import sys; from rtassay.cli.main import run; run(['run', '--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "pyarrow", "matplotlib"} & set(done.stderr.split())
