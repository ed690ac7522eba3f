"""A small decoder of wire/STREAM.md, independent of rtassay.wire: it trusts nothing and fails on any flaw."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

FACTS, EVENT, FILE, OUTPUT, END = 1, 6, 7, 8, 9
_HEAD = struct.Struct("<4sBBHIIII")


@dataclass(frozen=True, slots=True)
class Frame:
    type: int
    lane: int
    payload: bytes

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.payload)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True, slots=True)
class FileFrame:
    mono_ns: int
    path: int
    error: int
    same: bool
    cut: bool
    content: bytes


def decode(stream: bytes, cut: bool = False) -> list[Frame]:
    """All frames of a stream. Raises AssertionError on any flaw; with `cut`, an unfinished last frame is left out."""
    frames: list[Frame] = []
    at = 0
    while at < len(stream):
        if cut and len(stream) - at < _HEAD.size:
            break
        magic, version, kind, lane, seq, length, head_crc, body_crc = _HEAD.unpack_from(stream, at)
        assert magic == b"\xf7RTW" and version == 1, f"bad head at {at}"
        assert head_crc == zlib.crc32(stream[at : at + 16]), f"bad head_crc at {at}"
        assert seq == len(frames) and length <= 1 << 20
        payload = stream[at + _HEAD.size : at + _HEAD.size + length]
        if cut and len(payload) < length:
            break
        assert len(payload) == length, f"cut frame at {at}"
        assert body_crc == zlib.crc32(payload), f"bad body_crc at {at}"
        frames.append(Frame(kind, lane, payload))
        at += _HEAD.size + length
    return frames


def whole(stream: bytes, command: str) -> list[Frame]:
    """Frames of a stream that must be complete: FACTS first, one END, last."""
    frames = decode(stream)
    assert [f.type for f in frames].count(FACTS) == 1 and frames[0].type == FACTS
    assert [f.type for f in frames].count(END) == 1 and frames[-1].type == END
    facts = frames[0].json
    assert facts["stream"] == 1 and facts["probe"] == "rtprobe" and facts["command"] == command
    assert facts["mono_ns"] <= frames[-1].json["mono_ns"]
    return frames


def events(frames: list[Frame], name: str | None = None) -> list[dict[str, Any]]:
    """The EVENT objects, all or of one name."""
    found = [f.json for f in frames if f.type == EVENT]
    return [e for e in found if name is None or e["event"] == name]


def output(frames: list[Frame], fd: int) -> bytes:
    """What the guarded command wrote on one file descriptor."""
    parts = []
    for frame in frames:
        if frame.type == OUTPUT:
            _, which, zero = struct.unpack_from("<QII", frame.payload)
            assert which in (1, 2) and zero == 0
            if which == fd:
                parts.append(frame.payload[16:])
    return b"".join(parts)


def files(frames: list[Frame]) -> list[FileFrame]:
    """The FILE frames of a watch."""
    found = []
    for frame in frames:
        if frame.type == FILE:
            mono_ns, path, error, flags = struct.unpack_from("<QIiB", frame.payload)
            assert frame.payload[17:24] == bytes(7) and flags < 4
            found.append(FileFrame(mono_ns, path, error, bool(flags & 1), bool(flags & 2), frame.payload[24:]))
    return found
