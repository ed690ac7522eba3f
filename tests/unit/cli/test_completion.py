"""What a shell is offered, and the order of --help."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from command_line import in_process

from rtassay import store
from rtassay.cli.main import GROUPS, VERBS, cli
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


def test_help_shows_every_verb_once_under_what_one_wants(home: Path) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped)) and set(VERBS) <= set(grouped)
    text = in_process("--help", home=home).stdout
    assert all(f"\n  {name} " in text for name in VERBS)
