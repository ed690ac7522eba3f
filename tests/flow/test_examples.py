"""Every verb's help has two examples or more. Each is understood, and each that needs no board is carried out; the manual page has them all."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
import traced_run
from cause_traces import real_pages
from command_line import in_process

from rtassay import store
from rtassay.cli.main import cli
from rtassay.cli.verbs import VERBS
from rtassay.model.events import Note

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
TEXT = DATA / "cyclictest" / "q-H100-t2.txt"
MANUAL = ROOT / "docs" / "reference" / "rtassay.1"
# They measure, or need a board, a running run or a terminal's script: here they are only understood.
BY_PARSING = re.compile(
    r"rtassay (run |exec (?!--repeat)|zoom |watch|explain |lab (?!list)|board inventory|kernel (?!list$)|image |experiment (?!plan)|compare before/|(?:doctor|tune) pi5|"
    r"gate |prove |throughput |export proofs/)"
)
# Verdicts and refusals are answers, too.
ANSWERS = {
    "causes": (0, 4),
    "doctor": (0, 1, 4),
    "exec": (0, 1, 4, 5),
    "probe": (0, 3),
    "show": (0, 1, 4, 5),
    "report": (0, 1, 4, 5),
    "extrapolate": (0, 4),
    "compare": (0, 1, 4, 5),
}


def examples(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """(verb, line) of a command and of all below it, without the words beside the line."""
    for line in (command.help or "").splitlines():
        if line.strip().startswith("rtassay "):
            yield name, re.split(r"\s{2,}|\s>\s", line.strip())[0]
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), below)
            assert found is not None
            yield from examples(found, name)


def all_examples() -> list[tuple[str, str]]:
    context = click.Context(cli)
    commands = [(verb, cli.get_command(context, verb)) for verb in VERBS]
    return [one for verb, command in commands if command is not None for one in examples(command, verb)]


EVERY = all_examples()


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_two_examples(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert sum(line.strip().startswith(f"rtassay {verb}") for line in (command.help or "").splitlines()) >= 2


@pytest.mark.parametrize("line", [line for _, line in EVERY])
def test_an_example_is_understood(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    args = shlex.split(line)[1:]
    command: click.Command = cli
    with click.Context(cli) as context:
        while isinstance(command, click.Group) and args and not args[0].startswith("-"):
            _, found, args = command.resolve_command(context, args)
            assert found is not None, line
            command = found
        command.make_context(line, args, parent=context)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files and a home with the recordings that the examples name."""
    place = tmp_path_factory.mktemp("reader")
    home = place / "home"
    (place / "logs").mkdir()
    for name in ("cyclictest.txt", "old.txt", "logs/one.txt"):
        shutil.copy(TEXT, place / name)
    named = [
        ("before", "stock"),
        ("RUN", "rt"),
        ("RUN2", "rt"),
        ("after", "rt"),
        *((f"{kind}{n}", kind) for kind in ("stock", "rt") for n in (1, 2, 3)),
    ]
    named += [(f"run{n}", "rt") for n in (1, 2, 3)]
    labelled = [(name, f"kernel={kernel}") for name, kernel in named]
    for name, label in [*labelled, ("console", "os=freertos"), ("board", "os=linux-rt")]:
        done = in_process("import", TEXT, "--name", name, "--label", label, home=home)
        assert done.returncode == 0, done.stderr
    for identity in ("20261122T195912-aaaaaa", "20261122T201500-bbbbbb"):
        done = in_process(
            "import", TEXT, "--name", identity[-6:], "--interval", "1ms", "--label", "ambient=20C", home=home
        )
        path = Path(done.stdout.split(" -> ")[1].strip())
        store.save_manifest(path, replace(store.load_manifest(path), id=identity))
        path.rename(path.with_name(f"{identity}.rta"))
        assert store.load_manifest(path.with_name(f"{identity}.rta")).id == identity
    _traced(home)
    return place


def _traced(home: Path) -> None:
    """A traced run with real pages of a kernel, one of which holds a late wake-up."""
    kernel = "debian-6.1-arm64"
    due_ns = int.from_bytes(real_pages(kernel)[0][:8], "little")
    fields = {
        "k": (due_ns - traced_run.BEGIN) // traced_run.MS,
        "due_ns": due_ns,
        "woke_ns": due_ns + 600_000,
        "tid": 7,
    }
    late = Note("trace_hit", 0, {"mono_ns": due_ns + 600_000, **fields, "above_ns": 500_000, "captured": True})
    events = traced_run.with_pages(traced_run.traced_run(hits=[late]), kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rtassay.store.tracing._attribute", traced_run.known)
        store.seal(traced_run.record(home / "recordings", events, name="traced"))


CARRIED_OUT = [(verb, line) for verb, line in EVERY if not BY_PARSING.match(line)]


def test_half_of_the_examples_or_more_are_carried_out() -> None:
    assert len(CARRIED_OUT) >= len(EVERY) / 2
    assert len({verb for verb, _ in CARRIED_OUT}) >= len(VERBS) - 10


@pytest.mark.parametrize(("verb", "line"), CARRIED_OUT, ids=[line for _, line in CARRIED_OUT])
def test_an_example_does_what_it_says(
    verb: str, line: str, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "reader"  # examples change names and remove recordings: each has its own copy
    shutil.copytree(reader, place)
    monkeypatch.chdir(place)
    words = shlex.split(line)[1:]
    if "--restore" in words:
        assert in_process("rm", words[-1], home=place / "home").returncode == 0
    done = in_process(*words, home=place / "home")
    assert done.returncode in ANSWERS.get(verb, (0,)), done.stderr
    assert done.stdout or done.stderr or Path(words[words.index("-o") + 1]).stat().st_size


def test_the_manual_page_has_every_verb_and_every_example() -> None:
    page = MANUAL.read_text().replace("\\-", "-").replace("\\e", "\\")
    assert all(f".SS rtassay {verb}\n" in page for verb in VERBS)
    assert [line for _, line in EVERY if line not in page] == []
    assert "--deadline TIME" in page and ".SH EXIT STATUS" in page and "RTASSAY_HOME" in page


def test_the_manual_page_has_only_macros_that_are_meant() -> None:
    """A line that begins with a dot or an apostrophe is a macro: text must not become one."""
    macros = {line.split()[0] for line in MANUAL.read_text().splitlines() if line[:1] in (".", "'")}
    assert macros == {'.\\"', ".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".BR", ".I", ".nf", ".fi"}
    groff = shutil.which("groff")
    if groff is not None:
        told = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww", "-z", MANUAL], capture_output=True, text=True, check=True
        )
        assert told.stderr == ""
