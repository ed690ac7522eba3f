"""rtassay kernel without a board: build says what differs, list and remove know the builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import in_process
from small_kernel import small_kernel


def test_build_list_and_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home, tree = tmp_path / "home", small_kernel(tmp_path / "tree")
    words = ("kernel", "build", tree, "--arch", "amd64", "--config", "tinyconfig", "--with", "make", "--no-ccache")
    made = in_process(*words, "--stock", "--rt", "--fragment", "UNKNOWN=y", home=home)
    assert made.returncode == 0, made.stderr
    assert "PREEMPT_RT: n -> y" in made.stdout and "RCU_BOOST: n -> y" in made.stdout
    assert "not kept by this kernel" in made.stdout and "UNKNOWN=y" in made.stdout
    again = in_process(*words, "--rt", "--fragment", "UNKNOWN=y", "--json", home=home)
    (rt,) = json.loads(again.stdout)["builds"]
    assert rt["cached"] and rt["rt"] and Path(rt["path"], "kernel.json").is_file()
    builds = json.loads(in_process("kernel", "list", "--json", home=home).stdout)["builds"]
    assert [build["rt"] for build in builds] == [False, True]
    shown = in_process("kernel", "list", home=home)
    assert rt["release"] in shown.stdout and "size MB" in shown.stdout
    unclear = in_process("kernel", "remove", "6.66", home=home)
    assert unclear.returncode == 2 and rt["release"] in unclear.stderr
    gone = in_process("kernel", "remove", rt["release"], home=home)
    assert gone.returncode == 0 and not Path(rt["path"]).exists()


def test_what_cannot_be_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = small_kernel(tmp_path / "tree", rt=False)
    words = ("kernel", "build", tree, "--arch", "amd64", "--config", "tinyconfig", "--with", "make")
    for more, code, said in (
        (("--rt",), 2, "no PREEMPT_RT"),
        (("--fragment", "nothing"), 2, "no fragment 'nothing'"),
        (("--config", "/no/such"), 2, "no configuration '/no/such'"),
        (("--arch", "vax"), 2, "no kernels for 'vax'"),
    ):
        refused = in_process(*words, *more, home=tmp_path / "home")
        assert refused.returncode == code and said in refused.stderr, refused.stderr
    (tree / "broken").write_text("")
    failed = in_process(*words, home=tmp_path / "home")
    assert failed.returncode == 3 and "it is broken" in failed.stderr and ".log" in failed.stderr
