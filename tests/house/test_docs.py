"""Docs match code: pages of docs/extend run, links lead somewhere, generated pages are up to date, every room has its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rtassay.model import rooms

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs" / "extend").glob("*.md") if page.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_code_of_the_page_runs(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert blocks, f"{page} has no code"
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], check=True, cwd=ROOT, timeout=300)


def test_every_room_has_a_page_a_contract_test_and_a_line_in_contributing() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    for room in rooms.ROOMS:
        assert (ROOT / "docs" / "extend" / f"{room}.md").exists(), room
        assert (ROOT / "tests" / "contract" / f"test_{room}.py").exists(), room
        assert f"docs/extend/{room}.md" in contributing


@pytest.mark.parametrize("room", rooms.ROOMS)
def test_every_member_of_a_room_can_be_loaded_and_is_named_as_the_user_types_it(room: str) -> None:
    for name in rooms.table(room):
        assert rooms.load(room, name).name == name


def test_every_page_of_extend_stands_in_its_table() -> None:
    index = (ROOT / "docs" / "extend" / "README.md").read_text()
    assert all(f"({page.name})" in index for page in PAGES)


def tracked(*patterns: str) -> list[str]:
    """Files of the repository, by their path in it."""
    told = ["git", "ls-files", *patterns]
    return subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def markdown_files() -> list[Path]:
    return [ROOT / name for name in tracked("*.md")]


@pytest.mark.parametrize("page", markdown_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


PLACES = re.compile(r"`((?:src|probe|tests|tools|wire|docs|presets|bench)/[^`\s<>*{}]*)`")


def test_a_page_names_only_files_there_are() -> None:
    """Decision notes tell of their day, so they are left out; NAME, VERB, SUBJECT and FORMAT stand for the reader's own."""
    files = tracked()
    known = {*files, *(str(parent) for name in files for parent in Path(name).parents)}
    gone = []
    for page in (
        name
        for name in files
        if re.match(r"(README|CONTRIBUTING|docs/(?!decisions/).*|wire/.*)\.md$|[A-Z]+\.md$", name)
    ):
        for place in PLACES.findall((ROOT / page).read_text()):
            if not re.search("NAME|VERB|SUBJECT|FORMAT", place) and place.rstrip("/") not in known:
                gone.append(f"{page} names {place}")
    assert not gone, "\n".join(gone)


CITED = re.compile(r"\b(?:[a-z-]+/)*(?:[A-Z][A-Z_-]+|(?:docs|wire)/[\w./-]+)\.md\b")


def test_what_is_cited_is_in_the_repository() -> None:
    """A page that a comment, a docstring or another page names (an upper-case name, or a path below docs or wire)."""
    files = tracked()
    names = {*files, *(Path(name).name for name in files)}
    code = [name for name in files if re.match(r"(src|probe|tests|tools|wire|bench|presets|docs)/", name)]
    gone = []
    for name in code:
        if name.startswith("tests/data/") or not name.endswith((".py", ".c", ".h", ".def", ".toml", ".md", ".sh")):
            continue
        cited = CITED.findall((ROOT / name).read_text())
        gone += [f"{name} cites {page}" for page in cited if page not in names and Path(page).name not in names]
    assert not gone, "\n".join(gone)


def test_generated_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/make_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_only_commands_that_exist() -> None:
    from rtassay.cli.verbs import VERBS

    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for block in re.findall(r"```\n(.*?)```", readme, re.S):
        for line in block.splitlines():
            words = line.split("#")[0].split()
            if words[:1] == ["rtassay"]:
                assert words[1] in VERBS, line
            if words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", makefile, re.M), line


def test_make_run_states_the_requirement_that_it_judges_and_why() -> None:
    """Printed before anything is measured; the refused option ends it there."""
    done = subprocess.run(["tools/first-run", "--priority", "0"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "--priority" in done.stderr
    script = (ROOT / "tools" / "first-run").read_text()
    deadline, p, length = re.findall(r"run --deadline (\S+) --p (\S+) --duration (\S+) --report", script)[0]
    assert f"--deadline {deadline} --p {p}" in done.stdout and f"since {length.replace('s', ' s')}" in done.stdout
    assert "3,000 activations" in done.stdout
