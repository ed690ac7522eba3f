"""What a shell is offered, and the order of --help."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from command_line import RTASSAY, in_process

from rtassay import store
from rtassay.cli.main import cli, run
from rtassay.cli.verbs import GROUPS, VERBS
from rtassay.model.manifest import Manifest, Plan, Source

ID = "20261122T195912-c6880c"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "recordings" / f"{ID}.rta"
    path.mkdir(parents=True)
    store.save_manifest(path, Manifest(ID, "2026-11-22T19:59:12Z", Source("rtprobe", "1", "rtw"), Plan(), sealed=True))
    return tmp_path


def offered(*words: str) -> list[str]:
    complete = BashComplete(cli, {}, "rtassay", "_RTASSAY_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_is_offered_what_fits(home: Path) -> None:
    assert offered("sh") == ["show"]
    assert offered("show", "2026") == [ID] == offered("label", "") == offered("compare", ID, "2")
    assert offered("show", "nothing") == []
    assert "--deadline" in offered("run", "--dea")
    assert offered("run", "lo") == ["local"]
    assert offered("experiment", "plan", "so") == ["soak"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_names_the_command(home: Path, shell: str) -> None:
    done = in_process("completion", shell, home=home)
    assert done.returncode == 0 and "_RTASSAY_COMPLETE" in done.stdout and "rtassay" in done.stdout


# A shell as a person has it, but without anybody's configuration: how it is started, and its first words.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], ""),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; "),
}


class Typed:
    """A shell on a terminal of its own."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        pid, self._far = pty.fork()
        if pid == 0:
            os.execvpe(argv[0], argv, env)
        self._pid = pid
        self.said = b""

    def type(self, text: str, until: str) -> None:
        """Type it and wait until the text was seen after it."""
        from_here = len(self.said)
        os.write(self._far, text.encode())
        deadline = time.monotonic() + 120
        while until.encode() not in self.said[from_here:]:
            assert time.monotonic() < deadline, self.said[from_here:]
            if select.select([self._far], [], [], 1)[0]:
                self.said += os.read(self._far, 4096)

    def close(self) -> None:
        os.close(self._far)  # it is hung up
        os.waitpid(self._pid, 0)


def script_of(shell: str, home: Path) -> tuple[Path, dict[str, str]]:
    """The script in a file, and the environment of a person with this home."""
    assert shutil.which(shell), f"apt-get install {shell}"
    script = home / f"completion.{shell}"
    script.write_text(in_process("completion", shell, home=home).stdout)
    path = f"{RTASSAY.parent}:{os.environ['PATH']}"
    return script, {**os.environ, "PATH": path, "HOME": str(home), "TERM": "dumb"}


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_verbs_options_and_recordings(home: Path, shell: str) -> None:
    """The script is loaded by the shell, and Tab is typed."""
    argv, first = SHELLS[shell]
    script, env = script_of(shell, home)
    typed = Typed(argv, env)
    try:
        typed.type(f"{first}source {script} && echo lo''aded\n", "loaded")
        typed.type("rtassay sho\t", "show ")
        typed.type("\x15rtassay show 2026\t", ID)
        typed.type("\x15rtassay run --deadl\t", "--deadline")
    finally:
        typed.close()


def test_fish_offers_verbs_options_and_recordings(home: Path) -> None:
    """By its own command for what Tab offers: on a terminal the answer is mixed with its suggestions."""
    script, env = script_of("fish", home)
    asked = "; ".join(f"complete -C 'rtassay {line}'" for line in ("sho", "show 2026", "run --deadl"))
    argv = ["fish", "--no-config", "-c", f"source {script}; {asked}"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["show", ID, "--deadline"], done.stderr


def test_help_shows_every_verb_once_under_what_one_wants(home: Path) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped)) and set(VERBS) <= set(grouped)
    text = in_process("--help", home=home).stdout
    places = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places) and next(iter(GROUPS)) == "The first hour" and len(GROUPS["The first hour"]) == 10
    assert [title.split()[0] for title in GROUPS][1:7] == [
        "Measure",
        "Judge",
        "Explain",
        "Improve",
        "Boards",
        "Recordings",
    ]
    assert all(f"\n  {name} " in text for name in VERBS)


def test_a_variable_of_the_completion_that_was_left_set_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_RTASSAY_COMPLETE", "bash_complete")
    monkeypatch.delenv("COMP_WORDS", raising=False)
    assert run([]) == 2
    assert "unset _RTASSAY_COMPLETE" in capsys.readouterr().err
