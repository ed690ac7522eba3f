"""manifest.json and findings.json: what they look like, and what is said of one that cannot be used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rtassay import store
from rtassay.model.errors import CorruptRecording, InputFileError, NewerFormat, RtassayError
from rtassay.model.manifest import LaneEntry, Manifest, Seal, Source
from rtassay.store import disk, manifests
from rtassay.store.manifests import check_hashes, check_sizes

BLANK = Manifest("x", "2026-11-22", Source("rtprobe", None, "rtw"), labels={"a": "b"})


def test_a_manifest_is_json_for_people(tmp_path: Path) -> None:
    store.save_manifest(tmp_path, BLANK)
    text = (tmp_path / "manifest.json").read_text()
    assert text.startswith('{\n "id": "x",\n "created": "2026-11-22",\n "source": {\n  "tool": "rtprobe",\n')
    assert text.endswith("\n}\n") and json.loads(text)["labels"] == {"a": "b"}
    assert store.load_manifest(tmp_path) == BLANK


HEAD = '{"schema": "rtassay/recording", "version": %d}'


@pytest.mark.parametrize(
    ("content", "kind", "what", "why", "hint"),
    [
        (HEAD % 3, NewerFormat, "PATH is a recording of version 3", "this rtassay reads version 2", "read it with the rtassay that made it, or a newer one"),
        (HEAD % 1, InputFileError, "PATH is a recording of version 1", "this rtassay reads version 2; no earlier one was released", "measure again, or import the original file again"),
        ('{"schema": "other", "version": 9}', CorruptRecording, "PATH is not a recording", "its manifest.json says schema 'other'", None),
        (HEAD % 2, CorruptRecording, "PATH/manifest.json is damaged", "Object missing required field `id`", None),
        ('{"schema": "rtassay/recording"}', CorruptRecording, "PATH/manifest.json is damaged", "Object missing required field `version`", None),
        (None, CorruptRecording, "PATH is not a readable recording", "manifest.json: No such file or directory", None),
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_used(
    tmp_path: Path, content: str | None, kind: type[RtassayError], what: str, why: str, hint: str | None
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(kind) as caught:
        store.load_manifest(tmp_path)
    assert type(caught.value) is kind and caught.value.what == what.replace("PATH", str(tmp_path))
    assert caught.value.why == why and (hint is None or caught.value.hint == hint)


def test_a_manifest_whose_text_was_changed_is_refused(tmp_path: Path) -> None:
    manifest = replace(BLANK, id="20261123T190458-958715", lanes=(LaneEntry(0, "0", 0, 997_000, 2990),))
    store.save_manifest(tmp_path, manifest)
    file = tmp_path / "manifest.json"
    text = file.read_text()
    assert store.load_manifest(tmp_path) == manifest and "sha256" in json.loads(text)
    digits = [at for at, letter in enumerate(text) if letter.isdigit()]
    for at in digits:
        file.write_text(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
        with pytest.raises(RtassayError):
            store.load_manifest(tmp_path)
    for other in (text.replace("2990", "29900"), text[: text.rindex(",")] + "}\n", json.dumps(json.loads(text))):
        file.write_text(other)
        with pytest.raises(CorruptRecording, match=r"manifest\.json is not as rtassay wrote it") as caught:
            store.load_manifest(tmp_path)
        assert "rtassay label" in str(caught.value.hint)
    file.write_text(text)
    assert store.load_manifest(tmp_path) == manifest


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'"text"', b"3", b"[" * 100_000])
def test_findings_that_cannot_be_used_are_computed_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "findings.json").write_bytes(content)
    assert store.load_findings(tmp_path) is None
    store.save_findings(tmp_path, {"a": 1})
    assert store.load_findings(tmp_path) == {"a": 1}


def test_no_damaged_byte_of_findings_is_believed(tmp_path: Path) -> None:
    """A digit that a disk changes leaves good JSON."""
    found = {"max_ns": 5335, "lanes": [{"sha256": "a"}], "text": "p <= 1e-6"}
    store.save_findings(tmp_path, found)
    file = tmp_path / "findings.json"
    data = file.read_bytes()
    assert msgspec.json.decode(data) == found | {"sha256": hashlib.sha256(msgspec.json.encode(found)).hexdigest()}
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert store.load_findings(tmp_path) is None, data[at:]
    file.write_bytes(msgspec.json.encode(found))
    assert store.load_findings(tmp_path) is None, "without its sum"
    store.save_findings(tmp_path, {})
    assert store.load_findings(tmp_path) == {}


@pytest.mark.parametrize(
    ("save", "left"),
    [
        (lambda path: store.save_manifest(path, BLANK), "the manifest that was there before is still in place"),
        (lambda path: store.save_findings(path, {}), "the recording is whole, only its cache is not kept"),
    ],
)
def test_what_is_left_when_the_disk_does_not_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save, left: str
) -> None:  # type: ignore[no-untyped-def]
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "sync_file", full)
    with pytest.raises(store_error()) as caught:
        save(tmp_path)
    assert caught.value.what == f"the disk is full: nothing more fits in {tmp_path}"
    assert (caught.value.why, caught.value.hint) == (left, "free some space and go on")
    assert list(tmp_path.iterdir()) == []


def store_error() -> type[RtassayError]:
    from rtassay.model.errors import BoardError

    return BoardError


def test_sealed_files_are_compared_by_size_and_by_hash(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "b").write_bytes(b"xy")
    seals = {name: Seal(len(data), hashlib.sha256(data).hexdigest()) for name, data in (("a", b"12345"), ("b", b"xy"))}
    manifest = Manifest("x", "", BLANK.source, seals=seals)
    check_sizes(tmp_path, manifest)
    check_hashes(tmp_path, manifest)
    (tmp_path / "b").write_bytes(b"xz")
    check_sizes(tmp_path, manifest)
    with pytest.raises(CorruptRecording) as caught:
        check_hashes(tmp_path, manifest)
    other = hashlib.sha256(b"xz").hexdigest()
    assert caught.value.what == f"{tmp_path / 'b'} is damaged"
    assert caught.value.why == f"its SHA-256 is {other[:12]}..., sealed was {seals['b'].sha256[:12]}..."
    (tmp_path / "b").write_bytes(b"x")
    with pytest.raises(CorruptRecording) as caught:
        check_sizes(tmp_path, manifest)
    assert (caught.value.what, caught.value.why) == (f"{tmp_path / 'b'} is damaged", "it has 1 bytes, sealed were 2")
    (tmp_path / "b").unlink()
    for check, words in ((check_sizes, "is missing from the recording"), (check_hashes, "cannot be read")):
        with pytest.raises(CorruptRecording) as caught:
            check(tmp_path, manifest)
        assert caught.value.what == f"{tmp_path / 'b'} {words}" and caught.value.why == "No such file or directory"
    assert manifests.FINDINGS == "findings.json"
