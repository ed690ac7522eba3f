"""The raw streams of an unsealed recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rtassay.model.errors import CorruptRecording
from rtassay.model.events import Event, Parser
from rtassay.model.files import open_regular
from rtassay.model.manifest import Manifest
from rtassay.store.disk import explain

_CHUNK_BYTES = 1 << 20


ParserFor = Callable[[Manifest], Parser]
Progress = Callable[[int, int], None]


def stream_of(path: Path) -> Path | None:
    """The probe's stream in a recording, None if there is none."""
    return next(iter(sorted(path.glob("stream.*"))), None)


def parser_of(stream: Path, manifest: Manifest, parser_for: ParserFor | None) -> Parser:
    """The parser of the stream; rtprobe's own streams need none from the caller. Raises CorruptRecording if none is known."""
    from rtassay.wire.stream import StreamParser

    if stream.suffix == ".rtw":
        return StreamParser()
    if parser_for is None:
        raise CorruptRecording(
            f"{stream} cannot be read", f"no parser for the stream of {manifest.plan.probe} was given"
        )
    return parser_for(manifest)


def events_of(stream: Path, parser: Parser, progress: Progress | None = None) -> Iterator[Event]:
    """All events of a stream in its current state, in constant memory. Raises CorruptRecording if it cannot be read."""
    done = 0
    try:
        total = stream.stat().st_size
        with open_regular(stream) as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield from parser.feed(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, max(total, done))
    except OSError as error:
        raise CorruptRecording(f"{stream} cannot be read", explain(error)) from error
    yield from parser.finish()
