"""`manifest.json` and `findings.json`: strict reading, atomic writing. Imports neither numpy nor pyarrow."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from rtassay.model.errors import CorruptRecording, InputFileError, NewerFormat
from rtassay.model.files import read_regular, require_regular
from rtassay.model.findings import ANALYSIS_VERSION, CheckResult, LaneFindings, Sealed
from rtassay.model.manifest import RECORDING_VERSION, Manifest
from rtassay.store.disk import explain, sha256_of, write_replacing
from rtassay.store.paths import MANIFEST

FINDINGS = "findings.json"
_SCHEMA = "rtassay/recording"
_KEY = b'"sha256":'


class _Head(msgspec.Struct):
    schema: str
    version: int


def load_manifest(path: Path) -> Manifest:
    """The manifest of the recording at `path`.

    Raises CorruptRecording with the place in the JSON that is wrong, NewerFormat for one of a later version, and InputFileError for
    one of an earlier version: no earlier one was released.
    """
    file = path / MANIFEST
    try:
        data = read_regular(file)
    except OSError as error:
        raise CorruptRecording(f"{path} is not a readable recording", f"{MANIFEST}: {explain(error)}") from error
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.schema != _SCHEMA:
            raise CorruptRecording(f"{path} is not a recording", f"its {MANIFEST} says schema '{head.schema}'")
        if head.version > RECORDING_VERSION:
            raise NewerFormat(
                f"{path} is a recording of version {head.version}",
                f"this rtassay reads version {RECORDING_VERSION}",
                "read it with the rtassay that made it, or a newer one",
            )
        if head.version < RECORDING_VERSION:
            raise InputFileError(
                f"{path} is a recording of version {head.version}",
                f"this rtassay reads version {RECORDING_VERSION}; no earlier one was released",
                "measure again, or import the original file again",
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptRecording(f"{file} is damaged", str(error)) from error
    if _unsummed(data) is None:
        raise CorruptRecording(
            f"{file} is not as rtassay wrote it",
            "the SHA-256 of its text, on its last line, is missing or another",
            "take the file from a copy of the recording; labels and notes are edited by `rtassay label`",
        )
    return manifest


def save_manifest(path: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically, with the SHA-256 of all before it as the last key: aside, fsync, rename. Raises BoardError."""
    data = _summed(msgspec.json.format(msgspec.json.encode(manifest), indent=1), b"\n ") + b"\n"
    write_replacing(path / MANIFEST, data, "the manifest that was there before is still in place")


def load_findings(path: Path) -> dict[str, Any] | None:
    """The cached findings; None if there are no usable ones (they can be computed again)."""
    try:
        body = _unsummed(read_regular(path / FINDINGS))
        if body is None:
            return None
        value = msgspec.json.decode(body)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def load_sealed(path: Path, manifest: Manifest) -> Sealed | None:
    """Of the cached findings what a later judgement needs; None if there are none of this version of the analysis."""
    data = load_findings(path)
    if data is None or data.get("analysis_version") != ANALYSIS_VERSION:
        return None
    try:
        lanes, pooled = (
            msgspec.convert(data["lanes"], tuple[LaneFindings, ...]),
            msgspec.convert(data["pooled"], LaneFindings),
        )
        checks = msgspec.convert(data["checks"], tuple[CheckResult, ...])
    except (KeyError, msgspec.ValidationError):
        return None
    verdict = data.get("verdict")
    confidence = manifest.plan.confidence if verdict is None else verdict["confidence"]
    return Sealed(lanes, pooled, {check.id: check for check in checks}, confidence)


def save_findings(path: Path, findings: dict[str, Any]) -> None:
    """Cache findings atomically, with the SHA-256 of all before it as the last key. Raises BoardError."""
    write_replacing(
        path / FINDINGS, _summed(msgspec.json.encode(findings)), "the recording is whole, only its cache is not kept"
    )


def _summed(body: bytes, indent: bytes = b"") -> bytes:
    """A JSON object with the SHA-256 of its text as the last key: nothing else would notice a digit that a disk has changed."""
    members = body.removesuffix(b"}").rstrip()
    comma = b"" if members == b"{" else b","
    return members + comma + indent + _KEY + b'"' + _sum_of(members) + b'"' + indent.rstrip(b" ") + b"}"


def _unsummed(data: bytes) -> bytes | None:
    """The object without its sum, or None if the text is not the one that was summed."""
    head, found, tail = data.rpartition(_KEY)
    members = head.rstrip().removesuffix(b",")
    return members + b"}" if found and b"".join(tail.split()) == b'"' + _sum_of(members) + b'"}' else None


def _sum_of(members: bytes) -> bytes:
    return hashlib.sha256(members + b"}").hexdigest().encode()


def check_sizes(path: Path, manifest: Manifest) -> None:
    """Raise CorruptRecording for a sealed file that is missing or of another size."""
    for name, seal in manifest.seals.items():
        file = path / name
        try:
            require_regular(file)
            size = file.stat().st_size
        except OSError as error:
            raise CorruptRecording(f"{file} is missing from the recording", explain(error)) from error
        if size != seal.bytes:
            raise CorruptRecording(f"{file} is damaged", f"it has {size} bytes, sealed were {seal.bytes}")


def check_hashes(path: Path, manifest: Manifest) -> None:
    """Raise CorruptRecording for a sealed file whose SHA-256 is another."""
    for name, seal in manifest.seals.items():
        try:
            _, found = sha256_of(path / name)
        except OSError as error:
            raise CorruptRecording(f"{path / name} cannot be read", explain(error)) from error
        if found != seal.sha256:
            raise CorruptRecording(
                f"{path / name} is damaged", f"its SHA-256 is {found[:12]}..., sealed was {seal.sha256[:12]}..."
            )
