"""Frames of a stream (wire/STREAM.md) out of bytes that may be cut, damaged or mixed with something else."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from rtassay.model.errors import NewerFormat
from rtassay.model.events import Event, Facts
from rtassay.model.files import open_regular
from rtassay.model.manifest import Damage
from rtassay.wire import payload as p

VERSION: Final = 1
MAGIC: Final = b"\xf7RTW"
MAX_PAYLOAD: Final = 1 << 20
HEAD: Final = struct.Struct("<4sBBHIIII")
_HALF = 1 << 31
_CHUNK_BYTES = 1 << 20
# Their payloads may hold a whole stream of another process, whose frames must not be taken for ours.
_FOREIGN_INSIDE = frozenset({p.OUTPUT, p.FILE})


class StreamParser:
    """Bytes to events, in order; `only` names the event classes wanted (`{"Facts", "Second", "End"}`), None means all.

    Bodies of frames that are not wanted are passed over without looking into them. Damage never raises: it is counted
    in `damage`. A frame of a higher version raises NewerFormat. A frame that comes twice is bad and left out.
    """

    def __init__(self, only: Collection[str] | None = None) -> None:
        self._only = None if only is None else frozenset(only)
        self._buffer = bytearray()
        self._expected_seq = 0
        self._paths: list[str] = []
        self._skipped_bytes = 0
        self._bad_frames = 0
        self._lost_frames = 0
        self._unknown_frames = 0
        self._finished = False
        self._facts_seen = False
        self._end_seen = False
        self.bytes_seen = 0

    @property
    def damage(self) -> Damage:
        """What was lost so far; `cut` is known after `finish`."""
        return Damage(
            self._skipped_bytes,
            self._bad_frames,
            self._lost_frames,
            self._unknown_frames,
            self._finished and not self._end_seen,
        )

    @property
    def ended(self) -> bool:
        """Whether the END frame was seen."""
        return self._end_seen

    def feed(self, data: bytes) -> list[Event]:
        """Events that are complete with these bytes."""
        self.bytes_seen += len(data)
        self._buffer += data
        return self._parse(final=False)

    def finish(self) -> list[Event]:
        """Events still held back at the end of the bytes; what cannot be a frame any more is damage."""
        if self._finished:
            return []
        events = self._parse(final=True)
        self._finished = True
        return events

    def _parse(self, *, final: bool) -> list[Event]:
        events: list[Event] = []
        buffer, at = self._buffer, 0
        size = len(buffer)
        while at < size:
            head = self._head_at(at)
            if head is None:
                if size - at < HEAD.size and not final and MAGIC.startswith(bytes(buffer[at : at + 4])):
                    break
                at = self._resync(at, final=final)
                if size - at < HEAD.size and not final:
                    break
                continue
            kind, lane, seq, length, body_crc = head
            end = at + HEAD.size + length
            wanted = self._wanted(kind)
            if end > size:
                if not final:
                    break
                at = self._pass_over_cut(at, kind, seq)
                continue
            if not wanted:
                self._follow(seq)
                self._end_seen |= kind == p.END
                at = end
                continue
            body = bytes(memoryview(buffer)[at + HEAD.size : end])
            if zlib.crc32(body) != body_crc:
                if size - end < HEAD.size and not final:
                    break  # the next head tells whether the length can be trusted
                at = self._pass_over_bad(at, end, seq, final=final)
                continue
            if self._follow(seq):
                self._decode(kind, lane, body, events)
            at = end
        del buffer[:at]
        return events

    def _head_at(self, at: int) -> tuple[int, int, int, int, int] | None:
        """(type, lane, seq, length, body_crc) of a good head at this offset; raises NewerFormat."""
        buffer = self._buffer
        if len(buffer) - at < HEAD.size or not buffer.startswith(MAGIC, at):
            return None
        _, version, kind, lane, seq, length, head_crc, body_crc = HEAD.unpack_from(buffer, at)
        if zlib.crc32(bytes(buffer[at : at + 16])) != head_crc:
            return None
        if version > VERSION:
            raise NewerFormat(
                f"the stream is of version {version}",
                f"this rtassay reads up to version {VERSION}",
                "read it with the rtassay that came with the rtprobe that wrote it",
            )
        if version < 1 or length > MAX_PAYLOAD:
            return None
        return kind, lane, seq, length, body_crc

    def _resync(self, at: int, *, final: bool) -> int:
        """Offset of the next good head behind `at`, or where the search must go on with more bytes."""
        found, size = at, len(self._buffer)
        while True:
            found = self._buffer.find(MAGIC, found + 1)
            if found < 0:
                # A magic may have begun in the last three bytes.
                found = size if final else max(at + 1, size - 3)
                break
            if self._head_at(found) is not None or (size - found < HEAD.size and not final):
                break
        self._skipped_bytes += found - at
        return found

    def _pass_over_bad(self, at: int, end: int, seq: int, *, final: bool) -> int:
        """Behind a frame whose body is damaged. Its length is trusted when a good head (or the end) follows it."""
        self._bad_frames += 1
        self._follow(seq)
        if end == len(self._buffer) or self._head_at(end) is not None:
            self._skipped_bytes += end - at
            return end
        return self._resync(at, final=final)

    def _pass_over_cut(self, at: int, kind: int, seq: int) -> int:
        """Behind a frame whose body never came whole: bytes were lost inside it, or the stream was cut."""
        size = len(self._buffer)
        if kind in _FOREIGN_INSIDE:
            self._skipped_bytes += size - at
            return size
        found = self._resync(at, final=True)
        if found < size:  # else the stream was cut here, which is no damage of a frame
            self._bad_frames += 1
            self._follow(seq)
        return found

    def _follow(self, seq: int) -> bool:
        """Account for the step from the last frame to this one; False for a frame that came before."""
        step = (seq - self._expected_seq) & 0xFFFFFFFF
        if step >= _HALF:
            self._bad_frames += 1
            return False
        self._lost_frames += step
        self._expected_seq = (seq + 1) & 0xFFFFFFFF
        return True

    def _wanted(self, kind: int) -> bool:
        if self._only is None or kind == p.FACTS or kind not in p.EVENT_NAMES:
            return True
        return p.EVENT_NAMES[kind] in self._only

    def _decode(self, kind: int, lane: int, body: bytes, events: list[Event]) -> None:
        if kind not in p.EVENT_NAMES:
            self._unknown_frames += 1
            return
        try:
            event = self._event(kind, lane, body)
        except p.Malformed:
            self._bad_frames += 1
            return
        self._end_seen |= kind == p.END
        if self._only is None or p.EVENT_NAMES[kind] in self._only:
            events.append(event)

    def _event(self, kind: int, lane: int, body: bytes) -> Event:
        if kind == p.SAMPLES:
            return p.decode_samples(lane, body)
        if kind == p.SECOND:
            return p.decode_second(lane, body)
        if kind == p.SPILL:
            return p.decode_spill(lane, body)
        if kind == p.GAPS:
            return p.decode_gaps(lane, body)
        if kind == p.HISTOGRAM:
            return p.decode_histogram(lane, body)
        if kind == p.EVENT:
            return p.decode_note(lane, body)
        if kind == p.FILE:
            return p.decode_file(body, self._paths)
        if kind == p.OUTPUT:
            return p.decode_output(body)
        if kind == p.END:
            return p.decode_end(body)
        if kind == p.TRACE_TEXT:
            return p.decode_trace_text(body)
        if kind == p.TRACE_PAGE:
            return p.decode_trace_page(body)
        return self._take_facts(p.decode_facts(body))

    def _take_facts(self, facts: Facts) -> Facts:
        if self._facts_seen:
            raise p.Malformed("a second FACTS")
        self._facts_seen = True
        paths = facts.data.get("paths", [])
        if isinstance(paths, list):
            self._paths = [str(path) for path in paths]
        return facts


def read_events(path: Path, parser: StreamParser) -> Iterator[Event]:
    """Events of a whole file in constant memory. Raises OSError and NewerFormat; damage is in `parser.damage`."""
    with open_regular(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield from parser.feed(chunk)
    yield from parser.finish()
