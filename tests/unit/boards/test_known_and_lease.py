"""Names of boards in a file, and who holds a board: both from text alone."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.boards import known, lease
from rtassay.boards.known import KnownBoard, check_name, known_boards, parse_address, resolve, save_boards
from rtassay.model.errors import InputFileError, UsageError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("root@10.0.0.1", ("root@10.0.0.1", None)),
        ("root@board.lab:2222", ("root@board.lab", 2222)),
        ("ssh://root@board:22", ("root@board", 22)),
        ("a@[fe80::1%eth0]:22", ("a@fe80::1%eth0", 22)),
        ("a@[::1]", ("a@::1", None)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int | None]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "root@",
        "@host",
        "a b@c",
        "root@host:99999",
        "root@host:x",
        "root@-oProxyCommand=x y",
        "root@-x",
        "-l@host",
        "a@::1",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text)


@given(
    note=st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])),
    words=st.lists(st.sampled_from(["-F", "a b", "'", '"', "\\"])),
)
def test_boards_come_back_from_the_file_as_they_went_in(note: str, words: list[str]) -> None:
    boards = {
        "pi": KnownBoard("pi", "root@pi", port=22, directory="/mnt/x", sudo="never", options=tuple(words), note=note),
        "plain.1": KnownBoard("plain.1", "alias"),
    }
    save_boards(boards)
    assert known_boards() == boards


def test_a_damaged_file_is_named(home: Path) -> None:
    for text in (
        "[pi\n",
        "[pi]\naddress = 7\n",
        '[pi]\naddress = "a@b"\ncolour = "red"\n',
        '[pi]\naddress = "a@b"\nsudo = "maybe"\n',
        '[pi]\naddress = "a@b"\nport = "22"\n',
        '[pi]\naddress = "a@b"\nport = 70000\n',
        '[pi]\naddress = "a@b"\noptions = 3\n',
        '[pi]\naddress = "a@b"\nnote = ["x"]\n',
        '[pi]\naddress = "a@b"\ntransport = "pigeon"\n',
        '["a b"]\naddress = "a@b"\n',
        '[local]\naddress = "a@b"\n',
    ):
        (home / known.FILE).write_text(text)
        with pytest.raises(InputFileError) as caught:
            known_boards()
        assert known.FILE in caught.value.what


def test_a_transport_without_names_is_told(home: Path) -> None:
    (home / known.FILE).write_text('[pi]\naddress = "a@b"\ntransport = "local"\n')
    with pytest.raises(UsageError, match="which needs no name"):
        resolve("pi")


def test_names() -> None:
    for name in ("local", "ssh", "a b", "", "-x", "a@b"):
        with pytest.raises(UsageError):
            check_name(name)
    check_name("pi-4.kitchen_2")
    save_boards({"pi": KnownBoard("pi", "root@pi")})
    assert resolve("pi").name == "pi"
    assert resolve("root@elsewhere:23").name == "root@elsewhere:23"
    assert resolve("local").name == "local"
    with pytest.raises(UsageError) as caught:
        resolve("pl")
    assert "pi" in (caught.value.hint or "")


def run(script: str) -> bytes:
    """As on a board: by the smallest shell there is here."""
    return subprocess.run(["busybox", "sh", "-c", script], capture_output=True, check=False, timeout=300).stdout


def test_one_lease_one_holder(tmp_path: Path) -> None:
    place = str(tmp_path)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    first, second = lease.new_lease(boot), lease.new_lease(boot)
    assert run(lease.take_script(place, first, None)).strip() == b"taken"
    occupancy = lease.occupancy_of(run(lease.occupancy_script(place)))
    assert occupancy.lease == first and occupancy.held and occupancy.boot_id == boot
    assert occupancy.heard_s is not None and occupancy.heard_s < 10
    assert run(lease.heartbeat_script(place, first)).strip() == b"ours"
    # Somebody who believes it free does not get it; nor somebody who judged another lease stale.
    assert b"taken" not in run(lease.take_script(place, second, None))
    assert b"taken" not in run(lease.take_script(place, second, replace(first, token="another")))
    assert lease.occupancy_of(run(lease.occupancy_script(place))).lease == first
    assert run(lease.take_script(place, second, first)).strip() == b"taken"
    assert run(lease.heartbeat_script(place, first)) == b""
    assert "run-" in str(lease.busy("far", occupancy).hint) or "clean" in str(lease.busy("far", occupancy).hint)


def test_who_is_silent_has_gone_unless_something_runs() -> None:
    one = lease.new_lease("boot")
    quiet = lease.Occupancy(one, 1000.0, "boot", (), ())
    assert not quiet.held
    assert not replace(quiet, heard_s=1.0, boot_id="later").held
    assert replace(quiet, heard_s=1.0).held
    running = lease.Spool(one.run, "probe", alive=True, ended=False, size=1)
    assert replace(quiet, spools=(running,)).held
    assert not replace(quiet, spools=(replace(running, ended=True),)).held
    assert not replace(quiet, spools=(replace(running, run="run-of-another"),)).held


@given(st.binary(max_size=300))
def test_whatever_a_board_answers_is_no_error(answer: bytes) -> None:
    lease.occupancy_of(answer)
    lease.occupancy_of(b"lease=" + answer + b"\nspool=" + answer)


def test_a_lease_survives_json() -> None:
    one = lease.new_lease("boot")
    assert lease.occupancy_of(b"lease=" + json.dumps(asdict(one)).encode()).lease == one
