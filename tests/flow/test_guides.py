"""The commands of README, docs/start and docs/guides: each is understood, and each that needs no board of the reader's is executed.

What needs minutes or a virtual board has the mark `full`; the Python code of the guides runs in test_python_run.py and test_notebook.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import knob_readings
import pytest
import traced_run
from command_line import as_process, in_process

from rtassay import consoles, runs, store
from rtassay.cli.main import cli
from rtassay.cli.run import CyclictestCommand
from rtassay.cli.run_options import values_of
from rtassay.session import inventory

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "start").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]
DATA = ROOT / "tests" / "data"
# A board, a machine or a kernel that only the reader has.
ELSEWHERE = re.compile(
    r"\b(serial:|telnet:|192\.168|user@board|pi\b|behind|cm4|12h|1h\b|6\.12\.1|linux/|make -j|rtassay kernel |rtassay image )|(?:doctor|tune|run) pi5(?!\.)|^rtassay prove|proofs/"
)
LAB = re.compile(r"^rtassay (lab|gate) |lab:|kernel=6\.")
STANDS_FOR = {
    "DIR": "night",
    "quiet.toml": "tests/data/tune/quiet.toml",
    "$CONFIG": "config",
    "stall/*": "stall/rtprobe-osnoise.rtw",  # all of them are there: a name of two recordings would name none
    "linux-image-6.12.1-rt_arm64.deb": "README.md",
    "linux/tar-install": "docs",
}


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `rtassay` command in the page's code, without what follows `||`, `&&` or `#`."""
    for block in re.findall(r"^```(?:bash)?\n(.*?)^```", page.read_text(), re.S | re.M):
        for line in block.splitlines():
            if line.startswith("rtassay "):
                # in loads.md words of explanation stand two blanks behind the command, without a mark
                text = re.split(r" {2,}#| # | {4,}|\s&(?:&|$)|\|\|", line)[0]
                yield [STANDS_FOR.get(word, word) for word in shlex.split(text)]


EVERY = [(page, words) for page in PAGES for words in commands(page)]


def shown(value: object) -> str:
    return (
        f"{value.stem}" if isinstance(value, Path) else " ".join(value)[8:] if isinstance(value, list) else str(value)
    )


def test_the_pages_have_commands() -> None:
    assert len(EVERY) > 90 and {page.name for page, _ in EVERY} >= {"README.md", "lab.md", "figures.md", "loads.md"}


@pytest.mark.parametrize(("page", "words"), EVERY, ids=shown)
def test_every_command_is_understood(
    page: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Verb, options and values are known; nothing is started."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    group: click.Command = cli
    args = words[1:]
    with click.Context(cli) as context:
        while isinstance(group, click.Group) and args and not args[0].startswith("-"):
            _, found, args = group.resolve_command(context, args)
            assert found is not None, words
            group = found
        made = group.make_context(words[1], args, parent=context)
    if isinstance(group, CyclictestCommand) and page.name == "rtos.md":
        consoles.run_of(values_of(made.params))
    elif isinstance(group, CyclictestCommand):
        runs.make_request("local", values_of(made.params))


def recording(home: Path, file: Path, identity: str | None, **labels: str) -> None:
    """An imported file as a recording, with an id of our choice."""
    told = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
    done = in_process("import", file, *told, "--json", home=home)
    assert done.returncode == 0, done.stderr
    if identity is not None:
        (path,) = [path for path in (home / "recordings").glob("*.rta") if f'"{path.name[:-4]}"' in done.stdout]
        store.save_manifest(path, replace(store.load_manifest(path), id=identity))
        path.rename(path.with_name(f"{identity}.rta"))


def traced(home: Path, identity: str) -> None:
    """A traced run with known causes, with an id of our choice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rtassay.store.tracing._attribute", traced_run.known)
        path = traced_run.record(
            home / "recordings", traced_run.with_pages(traced_run.traced_run(), "debian-6.1-arm64")
        )
        store.seal(path)
    store.save_manifest(path, replace(store.load_manifest(path), id=identity))
    path.rename(path.with_name(f"{identity}.rta"))


def looked_below(home: Path, identity: str) -> None:
    """A run of hwlat, with an id of our choice."""
    path = traced_run.record(home / "recordings", traced_run.hwlat_run())
    store.seal(path)
    store.save_manifest(path, replace(store.load_manifest(path), id=identity))
    path.rename(path.with_name(f"{identity}.rta"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a reader who has measured what the pages speak of."""
    place = tmp_path_factory.mktemp("reader")
    home = place / "home"
    text = DATA / "cyclictest" / "q-H100-t2.txt"
    (place / "tests").symlink_to(ROOT / "tests")
    for folder, names in (("old-logs", ["a.txt"]), ("logs", ["std-1.txt", "rt-1.txt"]), ("1to1-rt", ["1.txt"])):
        (place / folder).mkdir()
        for name in names:
            shutil.copy(text, place / folder / name)
    samples = DATA / "importers" / "cyclictest-verbose"
    timed = sorted(samples.glob("*.ok.txt"))[0]
    assert in_process("import", text, "--name", "first", home=home).returncode == 0
    for identity in ("20260101T000000-aaaaaa", "20261121T100000-bbbbbb", "20240601T100000-cccccc"):
        recording(home, text, identity)
    for identity in ("20230907T120000-dddddd", "20230907T130000-eeeeee"):
        recording(home, timed, identity)
    traced(home, "20261122T180000-ffffff")
    looked_below(home, "20261122T190000-dddddd")
    shutil.copytree(DATA / "one-stall", place / "stall", ignore=shutil.ignore_patterns("*.md"))
    for file in sorted((place / "stall").iterdir()):
        recording(home, file, None, stall="50ms")
    console = DATA / "importers" / "console" / "freertos-critical.ok.log"
    shutil.copy(console, place / "minicom.log")
    assert in_process("import", console, "--name", "with-sections", home=home).returncode == 0
    described = inventory.describe(knob_readings.reading("pi3-rt").first)
    (place / "pi5.json").write_text(json.dumps({"schema": "rtassay/inventory/1", "inventory": described}))
    for scenario in ("1:1", "N:N", "M:N"):
        for kernel in ("stock", "rt"):
            recording(home, text, None, scenario=scenario, kernel=kernel)
    for board in ("rpi5", "rpi4"):
        recording(home, text, None, board=board)
    for kernel in ("stock", "rt"):
        recording(home, text, None, set="nightly", kernel=kernel)
        recording(home, text, None, os=f"linux-{kernel}")
    return place


def runs_something(words: list[str]) -> bool:
    return words[1] in ("run", "exec", "throughput", "watch") or words[1:3] in (
        ["experiment", "run"],
        ["probe", "selftest"],
        ["board", "inventory"],
    )


def of_an_experiment(words: list[str]) -> bool:
    return words[1] == "experiment" and words[2] != "plan"


HERE = [
    (page, words) for page, words in EVERY if not ELSEWHERE.search(" ".join(words)) and not LAB.search(" ".join(words))
]
QUICK = [(page, words) for page, words in HERE if not runs_something(words) and not of_an_experiment(words)]


@pytest.mark.parametrize(("page", "words"), QUICK, ids=shown)
def test_a_command_on_recordings_does_what_the_page_says(
    page: Path, words: list[str], reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reader)
    args = [
        file
        for word in words[1:]
        for file in (sorted(map(str, Path().glob(word))) if word.startswith("logs/") else [word])
    ]
    done = in_process(*args, home=reader / "home")
    assert done.returncode in codes(words), done.stderr
    if "-o" in words:
        file = Path(words[words.index("-o") + 1])
        assert file.stat().st_size > 0
        file.unlink()
    elif done.returncode != 3:
        assert done.stdout


def codes(words: list[str]) -> tuple[int, ...]:
    """Exit codes that are an answer: a verdict, a refusal to extrapolate or to zoom, a probe of another machine that was not built here."""
    if words[1] == "show" and "--deadline" in words:
        return (0, 1, 4, 5)
    if words[1] == "doctor":
        return (0, 1, 4)
    if words[1] in ("extrapolate", "causes"):
        return (0, 1, 4) if "--with" in words else (0, 4)
    if words[1] == "zoom":
        return (3,)  # this machine does not run the kernel of the page's recording; tests/lab zooms on a board
    return (0, 3) if words[1:3] == ["probe", "path"] else (0,)


MEASURING = [
    (page, words)
    for page, words in HERE
    if (words[1] in ("run", "exec", "throughput") and "--of" not in words) or words[1:3] == ["probe", "selftest"]
]


@pytest.mark.full
@pytest.mark.parametrize(("page", "words"), MEASURING, ids=shown)
def test_a_command_that_measures_comes_to_a_verdict(page: Path, words: list[str], tmp_path: Path) -> None:
    """The same line for a second or two; a program that is not installed here is named with its package, a tracer that this kernel lacks by its name."""
    end = words.index("--") if "--" in words else len(words)
    short = [] if words[1] == "probe" else ["--duration", "2s"]
    done = as_process(*words[1:end], *short, *words[end:], home=tmp_path)
    missing = (done.returncode == 3 and "apt" in done.stderr) or (
        done.returncode == 2 and "this kernel has no tracer" in done.stderr
    )
    assert missing or done.returncode in (0, 1, 4, 5), done.stderr
    assert missing or done.stdout


@pytest.mark.full
def test_the_commands_of_an_experiment_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "guides" / "experiments.md"
    (tmp_path / "night.toml").write_text(
        'name = "night"\nwhat = "one load"\nrepeats = 1\n[[loads]]\nname = "idle"\n[[scenarios]]\nname = "all"\n'
        '[settings]\ninterval = "1ms"\nduration = "1s"\n'
    )
    done = []
    for words in commands(page):
        if of_an_experiment(words) and not ELSEWHERE.search(" ".join(words)) and not LAB.search(" ".join(words)):
            told = as_process(*words[1:], home=tmp_path / "home")
            assert told.returncode in (0, 4), (words, told.stderr)
            done.append(words[2])
    assert done[:5] == ["run", "status", "resume", "show", "report"] and (tmp_path / "night.html").stat().st_size > 0


@pytest.mark.full
def test_the_first_ten_minutes_typed_one_after_the_other(tmp_path: Path) -> None:
    """As a newcomer's shell reads them; only the minute of a run is two seconds, by a default of the reader's."""
    text = (ROOT / "README.md").read_text().split("## The first ten minutes\n")[1]
    block = re.findall(r"^```\n(.*?)^```", text, re.S | re.M)[0].replace("$PWD", str(ROOT))
    assert block.count("rtassay run ") == 2 and "rtassay show first " in block
    lines = [f"{line.split(' # ')[0]} || code=$?; test ${{code:-0}} -lt 6" for line in block.splitlines()]
    env = {**os.environ, "RTASSAY_HOME": str(tmp_path / "home")}
    assert as_process("config", "set", "run.duration", "2s", home=tmp_path / "home").returncode == 0
    script = "\n".join(["set -e", *lines])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert (tmp_path / "first.html").stat().st_size > 0 and done.stdout.count("first (") == 2
    assert "T: 0 " in done.stdout and "local: " in done.stdout


LAB_PAGES = [
    (ROOT / "README.md", "Stock against PREEMPT_RT, without a board", "compare"),
    (ROOT / "docs" / "guides" / "lab.md", "A first quarter of an hour", "compare"),
    (ROOT / "docs" / "guides" / "rtos.md", "Without hardware", "show"),
    (ROOT / "docs" / "guides" / "gate.md", "Two kernels of Debian", "gate"),
]


@pytest.mark.full
@pytest.mark.parametrize(("page", "chapter", "verb"), LAB_PAGES, ids=shown)
def test_the_commands_with_a_virtual_board_in_their_order(page: Path, chapter: str, verb: str, tmp_path: Path) -> None:
    """The first block of the chapter, as it stands, up to the verb that shows what was measured."""
    home = tmp_path / "home"
    text = page.read_text().split(f"## {chapter}\n")[1]
    block = re.findall(r"^```\n(.*?)^```", text, re.S | re.M)[0]
    lines = [shlex.split(line.split(" # ")[0]) for line in block.splitlines()]
    try:
        for words in lines:
            done = as_process(*words[1:], home=home, timeout_s=1200)
            assert done.returncode in ((0, 1, 4, 5) if words[1] in ("run", "gate") else (0,)), (words, done.stderr)
        assert [words[1] for words in lines if words[1] == verb]
    finally:
        started = [words[3] if len(words) > 3 else "quick" for words in lines if words[1:3] == ["lab", "start"]]
        as_process("lab", "stop", *started, home=home)
