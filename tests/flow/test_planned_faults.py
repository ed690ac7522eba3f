"""Faults by plan, as SQLite does: the Nth write, fsync, rename or close below a directory fails, for N = 1, 2 ... until the verb succeeds.

Each time: exit code 3 with the file and the error in words, no traceback, nothing half-written, every recording readable, sealing still
possible. What may be lost without harm (a cache) may fail in silence: then the verb has done all that it does without the fault.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

import failing_doubles
import probe_build
from scripted_proving import ASKED
from small_kernel import small_kernel

from rtassay import store
from rtassay.model.errors import EXIT_BOARD, EXIT_NOT_DEMONSTRATED
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.store import managing

SUPPORT = Path(__file__).parents[1] / "support"
DATA = (Path(__file__).parents[2] / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()
ERRNO = {"write": errno.ENOSPC, "fsync": errno.EIO, "rename": errno.EIO, "close": errno.EIO}
WORDS = ("disk is full", "No space left", "Input/output error", "error closing file")
TRASHED = "20261101T000000-dddddd"
IDS = ("20261101T000001-aaaaaa", "20261101T000002-bbbbbb", "20261101T000003-cccccc")
EXPERIMENT = """name = "x"
[[loads]]
name = "idle"
[settings]
duration = "100ms"
"""


@dataclass(frozen=True)
class Verb:
    """`argv` with {home}; `done` tells whether it did its work; `clean`: its exit code when nothing fails.

    `after`: looks at what must be so in any case.
    """

    argv: str
    done: Callable[[Path], bool]
    clean: tuple[int, ...] = (0,)
    after: Callable[[Path], None] = lambda home: None


def labelled(home: Path) -> bool:
    return store.load_manifest(recording(home, 0)).labels == {"a": "b"}


def recording_of(home: Path, identity: str) -> Path:
    return home / "recordings" / f"{identity}.rta"


def recording(home: Path, at: int) -> Path:
    return recording_of(home, IDS[at])


def whole(name: str, least: int = 100) -> Callable[[Path], bool]:
    return lambda home: (home / name).is_file() and (home / name).stat().st_size > least


def new_ones(home: Path) -> list[Path]:
    return [
        path for path in (home / "recordings").glob("*.rta") if path.name.removesuffix(".rta") not in (TRASHED, *IDS)
    ]


def sealed_anew(home: Path) -> bool:
    return any(store.load_manifest(path).sealed for path in new_ones(home))


def assert_nothing_lies_about(home: Path) -> None:
    """A compiler whose files cannot be closed leaves its own (cc*.s, cc*.cdtor.c), as it does without rtassay."""
    assert [path for path in (home / "tmp").iterdir() if not re.fullmatch(r"cc\w{6}\.[\w.]+", path.name)] == []


A, B, UNSEALED = IDS
LOADS = "--load idle --seeds 1 --count 100"
VERBS = {
    "label": Verb(f"label {A} a=b", labelled),
    "rm": Verb(f"rm {A}", lambda home: not recording(home, 0).exists()),
    "rm for ever": Verb(f"rm --forever {A}", lambda home: not recording(home, 0).exists()),
    "prune": Verb("prune --keep 1", lambda home: not recording(home, 0).exists()),
    "prune samples": Verb(
        "prune --keep 0 --samples-only", lambda home: not (recording(home, 0) / "samples.parquet").exists()
    ),
    "seal": Verb(f"seal {UNSEALED}", lambda home: store.load_manifest(recording(home, 2)).sealed),
    "import": Verb("import {home}/f.rtw", sealed_anew),
    "import csv": Verb("import --unit us {home}/f.csv", sealed_anew),
    "report": Verb(f"report {A} -o {{home}}/out.html", whole("out.html", 10_000)),
    "export": Verb(f"export {A} --to csv -o {{home}}/out.csv", whole("out.csv")),
    "table": Verb(f"table cores {A} -o {{home}}/out.md", whole("out.md", 50)),
    "figure": Verb(f"figure ccdf {A} -o {{home}}/out.svg", whole("out.svg", 1000)),
    "compare": Verb(f"compare {A} --with {B} -o {{home}}/out.html", whole("out.html", 10_000), (0, 2, 4, 5)),
    "show": Verb(f"show {A} --junit {{home}}/out.xml", whole("out.xml", 50), (0, 5)),
    "config": Verb("config set run.deadline 100us", lambda home: "100us" in (home / "config.toml").read_text()),
    "config unset": Verb("config unset run.p", lambda home: "p =" not in (home / "config.toml").read_text()),
    "board": Verb("board add pi5 root@nowhere", lambda home: '["pi5"]' in (home / "boards.toml").read_text()),
    "board remove": Verb("board remove old", lambda home: "old" not in (home / "boards.toml").read_text()),
    "restore": Verb(f"rm --restore {TRASHED}", lambda home: recording_of(home, TRASHED).exists()),
    "list": Verb("list", lambda home: True),
    "extrapolate": Verb(f"extrapolate {A} --level 1e-3 -o {{home}}/out.html", whole("out.html", 5000), (0, 4)),
    "show ktap": Verb(f"show {A} --ktap {{home}}/out.ktap", whole("out.ktap", 20), (0, 5)),
    "show summary": Verb(f"show {A} --summary {{home}}/out.md", whole("out.md", 20), (0, 5)),
    "run with a report": Verb(
        "run --duration 100ms --load none --report {home}/out.html", whole("out.html", 10_000), (0, 1, 4, 5)
    ),
    "kernel build": Verb(
        "kernel build {home}/tree --arch amd64 --config tinyconfig --with make --no-ccache",
        lambda home: len(list(home.glob("kernels/*/kernel.json"))) == 1,
    ),
    "gate": Verb(
        f"gate {{home}}/fine --against {{home}}/late {LOADS} -o {{home}}/out.json",
        whole("out.json"),
        after=assert_nothing_lies_about,
    ),
    "run": Verb("run --duration 100ms --load none", sealed_anew, (0, 1, 4, 5)),
    "experiment": Verb(
        "experiment run {home}/x.toml -o {home}/x --quiet",
        lambda home: bool(list((home / "x").glob("**/*.rta"))),
        (0, 4, 5),
    ),
}
SHORT = ("seal", "import")
"""In `make test`, at N = 1, 8, 64 ...; the others, and every N of these, are `full`."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    shim = tmp_path_factory.mktemp("shim") / "failing.so"
    subprocess.run(
        ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", shim, SUPPORT / "failing.c", "-ldl"], check=True
    )
    with subprocess.Popen(
        [sys.executable, SUPPORT / "failing_verbs.py"],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        ask, told = process.stdin, process.stdout

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            ask.write(json.dumps(request) + "\n")
            ask.flush()
            found: dict[str, Any] = json.loads(told.readline())
            return found

        yield answer
        ask.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template")
    for nth, identity in enumerate((TRASHED, *IDS)):
        source = Source("rtprobe", None, "rtw", "counted")
        blank = Manifest(identity, f"2026-11-01T00:00:0{nth}Z", source, Plan())
        with store.RecordingWriter.create(home / "recordings", blank, "stream.rtw") as writer:
            writer.append(DATA)
        if identity != UNSEALED:
            store.seal(writer.path)
    managing.put_away(recording_of(home, TRASHED))
    small_kernel(home / "tree")
    (home / "config.toml").write_text('[run]\np = 1e-3\ndeadline = "1ms"\n')
    (home / "boards.toml").write_text('[old]\naddress = "root@old"\n')
    (home / "f.rtw").write_bytes(DATA)
    (home / "f.csv").write_text("latency_us\n" + "".join(f"{5 + n % 7}\n" for n in range(2000)))
    (home / "x.toml").write_text(EXPERIMENT)
    (home / "out.html").write_text("the old page")
    failing_doubles.prepare(home)
    return home


def contents(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def assert_nothing_is_broken(home: Path, template: Path, verb: Verb, answer: dict[str, Any]) -> None:
    said = answer["err"]
    assert "Traceback" not in said and "a bug in rtassay" not in said, said
    if verb.done(home):
        assert answer["code"] in (*verb.clean, EXIT_BOARD), answer
    else:
        assert answer["code"] == EXIT_BOARD, answer
    if answer["code"] == EXIT_BOARD:
        assert any(words in said for words in WORDS) and str(home) in said, answer
    verb.after(home)
    for path in home.glob("out.*"):
        assert verb.done(home) or path.read_text() == "the old page", path
    assert [path for path in home.iterdir() if path.name.startswith(".") and path.is_file()] == []
    assert list(home.glob("**/.importing-*")) == [] and list(home.glob("**/.sealing")) == []
    for path in home.glob("**/*.rta"):
        if contents(path) == contents(template / "recordings" / path.name):
            continue
        opened = store.open_recording(path, verify=True)
        if not opened.manifest.sealed and not store.is_running(path):
            store.seal(path)


def steps(short: bool) -> Iterator[int]:
    nth = 1
    while True:
        yield nth
        nth = nth * 8 if short else nth + 1


@pytest.mark.parametrize("kind", ERRNO)
@pytest.mark.parametrize(
    ("name", "short"),
    [*((name, True) for name in SHORT), *(pytest.param(name, False, marks=pytest.mark.full) for name in VERBS)],
)
def test_a_verb_whose_files_fail_says_so_and_breaks_nothing(
    name: str,
    short: bool,
    kind: str,
    driver: Callable[[dict[str, Any]], dict[str, Any]],
    template: Path,
    tmp_path: Path,
) -> None:
    verb = VERBS[name]
    for nth in steps(short):
        home = tmp_path / str(nth)
        shutil.copytree(template, home)
        request = {"argv": verb.argv.format(home=home).split(), "home": str(home), "below": str(home)}
        answer = driver({**request, "kind": kind, "nth": nth, "errno": ERRNO[kind]})
        if not answer["failed"]:
            assert verb.done(home) and answer["code"] in verb.clean, answer
            verb.after(home)
            return
        try:
            assert_nothing_is_broken(home, template, verb, answer)
        except Exception as error:
            raise AssertionError(f"{kind} {nth} of {answer['failed']}: {error}") from error
        shutil.rmtree(home)


OF_RTASSAY, OF_GIT = "tmp", "linux/.git"


@pytest.mark.full
@pytest.mark.parametrize("kind", ERRNO)
@pytest.mark.parametrize(("below", "stride"), [(OF_RTASSAY, 3), (OF_GIT, 7)])
def test_a_bisection_whose_files_fail_never_names_a_wrong_commit(
    below: str,
    stride: int,
    kind: str,
    driver: Callable[[dict[str, Any]], dict[str, Any]],
    template: Path,
    tmp_path: Path,
) -> None:
    """In rtassay, in the steps that git starts, and in git itself: the commit, or none, and the tree is put back or one is told how."""
    nth, failed = 1, "not yet"
    while failed:
        home = tmp_path / str(nth)
        shutil.copytree(template, home)
        tree = home / "linux"
        later = subprocess.check_output(["git", "rev-parse", "main~1"], cwd=tree, text=True).strip()
        argv = ["gate", "bisect", "main~3", "main", "--tree", str(tree), "--build", "true", "--json"]
        argv += ["--image", str(tree / "bzImage"), "--load", "idle", "--count", "100"]
        where = {"kind": kind, "nth": nth, "errno": ERRNO[kind], "below": str(home / below)}
        answer = driver({"argv": argv, "home": str(home), "shared": str(tmp_path / f"{nth}.shared"), **where})
        failed = answer["failed"]
        said = f"{kind} {nth} of {failed}: {answer}"
        assert "Traceback" not in answer["err"] and "a bug in rtassay" not in answer["err"], said
        assert answer["code"] in ((0, EXIT_BOARD, EXIT_NOT_DEMONSTRATED) if failed else (0,)), said
        if answer["code"] == 0:
            assert json.loads(answer["out"])["commit"] == later, said
        elif answer["code"] == EXIT_NOT_DEMONSTRATED:
            assert later in json.loads(answer["out"])["candidates"], said
        at_work = (tree / ".git" / "BISECT_LOG").exists()
        back = (tree / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n" and not at_work
        assert back or "git bisect reset" in answer["err"], said
        assert_nothing_lies_about(home)
        shutil.rmtree(home)
        nth += stride
    assert nth > 1


@pytest.mark.full
@pytest.mark.parametrize("kind", ERRNO)
def test_a_campaign_whose_files_fail_is_resumed_to_the_end(
    kind: str, driver: Callable[[dict[str, Any]], dict[str, Any]], template: Path, tmp_path: Path
) -> None:
    """Nothing is measured twice, and nothing is lost but the run that failed. The first files one by one, then every forty-first."""
    nth, failed = 1, "not yet"
    while failed:
        home = tmp_path / str(nth)
        shutil.copytree(template, home)
        asked = ["prove", "--one", "vmstat-interval", *ASKED, "-o", str(home / "proof"), "--json"]
        request = {"home": str(home), "below": str(home), "kind": kind, "nth": nth, "errno": ERRNO[kind]}
        answer = driver({"argv": asked, **request})
        failed = answer["failed"]
        said = f"{kind} {nth} of {failed}: {answer}"
        assert "Traceback" not in answer["err"] and "a bug in rtassay" not in answer["err"], said
        assert answer["code"] in ((1, EXIT_BOARD, EXIT_NOT_DEMONSTRATED) if failed else (1,)), said
        if answer["code"] == EXIT_BOARD:
            assert any(words in answer["err"] for words in WORDS) and str(home) in answer["err"], said
        begun = (home / "proof" / "prove.json").exists()
        if answer["code"] == EXIT_NOT_DEMONSTRATED:
            assert begun and "rtassay prove --resume" in answer["err"], said
        again = ["prove", "--resume", str(home / "proof"), "--json"] if begun else asked
        rest = driver({"argv": again, **request, "kind": "none"})
        assert rest["code"] == 1, (said, rest)
        told = json.loads(rest["out"])
        assert told["next"] is None and len({run["recording"] for run in told["runs"]}) == len(told["runs"]) == 12
        assert_nothing_lies_about(home)
        shutil.rmtree(home)
        nth += 1 if nth < 12 else 41
    assert nth > 12


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An rtprobe that failing.c reaches."""
    place = tmp_path_factory.mktemp("dynamic")
    probe_build.build(["make", "--silent", "-C", "probe", f"BUILD={place}", "LDFLAGS=", "CFLAGS=-O0"])
    return place / "rtprobe"


@pytest.mark.full
@pytest.mark.parametrize("kind", ERRNO)
@pytest.mark.parametrize("failing", ["tune", "tune --revert"])
def test_settings_are_put_back_whatever_fails(
    failing: str,
    kind: str,
    dynamic: Path,
    driver: Callable[[dict[str, Any]], dict[str, Any]],
    template: Path,
    tmp_path: Path,
) -> None:
    """On this host, in the shell of the board, and in rtprobe, its guard and the guard's standby. In the end every setting is as it was."""
    change, back = ["tune", "--only", "one", "--for", "60s"], ["tune", "--revert"]
    nth, failed = 1, "not yet"
    while failed:
        home = tmp_path / str(nth)
        shutil.copytree(template, home)
        (home / "run").mkdir()
        settings = [home / "settings" / name for name in failing_doubles.SETTINGS]
        base = {"home": str(home), "below": str(home), "probe": str(dynamic)}
        where = {"kind": kind, "nth": nth, "errno": ERRNO[kind], "shared": str(tmp_path / f"{nth}.shared")}
        calm = {"kind": "none", "nth": 0, "errno": 0}
        if failing != "tune":
            assert driver({"argv": change, **base, **calm})["code"] == 0
        answer = driver({"argv": change if failing == "tune" else back, **base, **where})
        failed = answer["failed"]
        now = [path.read_text() for path in settings]
        said = f"{kind} {nth} of {failed}: {now} {answer}"
        assert "Traceback" not in answer["err"] and "a bug in rtassay" not in answer["err"], said
        if not failed:
            assert answer["code"] == 0 and now == ["new" if failing == "tune" else "old"] * len(settings), said
        elif failing == "tune":
            assert answer["code"] in (0, EXIT_BOARD, EXIT_NOT_DEMONSTRATED), said
            assert answer["code"] == EXIT_NOT_DEMONSTRATED or len(set(now)) == 1, said
            assert answer["code"] != EXIT_BOARD or set(now) == {"old"}, said
        else:
            assert answer["code"] in (0, EXIT_BOARD), said
            assert answer["code"] == EXIT_BOARD or set(now) == {"old"}, said
        reverted = driver({"argv": back, **base, **calm})
        assert reverted["code"] == 0, (said, reverted)
        assert [path.read_text() for path in settings] == ["old"] * len(settings), (said, reverted)
        assert list((home / "run").iterdir()) == [] == list((home / "tuned").glob("*")), (said, reverted)
        assert_nothing_lies_about(home)
        shutil.rmtree(home)
        nth += 1
    assert nth > 1
