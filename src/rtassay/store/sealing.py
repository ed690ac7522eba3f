"""From a stream to Parquet: decoded once, counted, verified, and only then is the stream removed."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rtassay.model import failpoints, warnings
from rtassay.model.errors import CorruptRecording, RtassayError
from rtassay.model.events import End, Event, Facts, Note, Output, Second
from rtassay.model.facts import facts_of
from rtassay.model.manifest import Damage, Manifest, RunWarning, Seal, TraceEntry
from rtassay.model.recording import Message, Spills
from rtassay.store import tables
from rtassay.store.account import bin_width, lane_entries, summarise
from rtassay.store.collect import Collector
from rtassay.store.disk import disk_error, sha256_of, sync_directory, sync_file
from rtassay.store.jitter import JitterCounts, jitter_counts
from rtassay.store.manifests import FINDINGS, load_manifest, save_manifest
from rtassay.store.order import SpillFrames, kept_from, late_from, write_spills
from rtassay.store.parts import separable
from rtassay.store.paths import MANIFEST, MESSAGES
from rtassay.store.samples import LATE, SAMPLES, LateSamples
from rtassay.store.streams import ParserFor, Progress, events_of, parser_of, stream_of
from rtassay.store.tracing import TRACE, Counters, TraceFrames, write_causes
from rtassay.store.writer import LOCK, Lock
from rtassay.wire.stream import MAGIC, StreamParser

TelemetryRow = tuple[str, str, int, float, str]
Finish = Callable[[Manifest, Path], Manifest]

_ASIDE = ".sealing"
_TELEMETRY_STREAM = "telemetry.rtw"
_INTACT = "the recording is unsealed and intact; seal it again when there is space"
_SEALED = "the recording is sealed; a power cut now may undo that, as its directory could not be synced"
_LEFT = {
    True: _SEALED,
    False: _INTACT,
    None: "look at the recording again when the disk works: its manifest cannot be read now",
}


def seal(
    path: Path,
    *,
    parser_for: ParserFor | None = None,
    telemetry_rows: Iterable[TelemetryRow] | None = None,
    messages: Iterable[Message] = (),
    finish: Finish | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Seal a recording (again after a crash, or a sealed one: no change) and return its manifest.

    `telemetry_rows`: (monitor, name, mono_ns, value, unit) in any order; without them `telemetry.rtw` stays as it is. `messages`:
    what monitors saw as text. `finish`
    gets the manifest with its results and the path, may write into `logs/`, and returns the manifest to seal. `progress` gets
    bytes decoded and bytes in all. Raises CorruptRecording, NewerFormat, UsageError while it is being written, and BoardError
    when the disk does not take it: then the recording is unsealed as before.
    """
    manifest = load_manifest(path)
    lock = Lock(path)
    try:
        if manifest.sealed:
            _remove_leftovers(path, manifest)
        else:
            manifest = _seal(path, manifest, parser_for, telemetry_rows, messages, finish, progress)
    except BaseException:
        lock.release()
        raise
    lock.release(remove=True)
    return manifest


def reached(step: str) -> None:
    """Called after every step that a crash could follow; tests make it crash."""
    failpoints.reached(f"seal {step}")


def _seal(
    path: Path,
    manifest: Manifest,
    parser_for: ParserFor | None,
    telemetry_rows: Iterable[TelemetryRow] | None,
    messages: Iterable[Message],
    finish: Finish | None,
    progress: Progress | None,
) -> Manifest:
    stream = stream_of(path)
    if stream is None:
        raise CorruptRecording(f"{path} cannot be sealed", "its stream is missing")
    parser = parser_of(stream, manifest, parser_for)
    aside = path / _ASIDE
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        reached("begun")
        manifest, made = write_tables(aside, manifest, events_of(stream, parser, progress), lambda: parser.damage)
        counters = Counters()
        if telemetry_rows is not None:
            made.append(_write_telemetry(aside, counters.watching(telemetry_rows)))
        manifest, made = with_causes(aside, manifest, made, counters)
        made += _write_messages(aside, messages)
        reached("written")
        for name in made:
            (aside / name).replace(path / name)
            reached(f"moved {name}")
        _write_logs(path)
        if telemetry_rows is None and _has_content(path / _TELEMETRY_STREAM):
            kept = RunWarning(warnings.TELEMETRY_NOT_DECODED, facts={"file": _TELEMETRY_STREAM})
            manifest = replace(manifest, warnings=(*manifest.warnings, kept))
        if finish is not None:
            manifest = finish(manifest, path)
        reached("finished")
        manifest = replace(manifest, sealed=True, seals=seals_of(path, keep_telemetry=telemetry_rows is None))
        sync_directory(path)
        save_manifest(path, manifest)
    except BaseException as error:
        shutil.rmtree(path / _ASIDE, ignore_errors=True)
        # The manifest may be in place although its directory could not be synced: then the recording needs what was made.
        sealed = _is_sealed(path)
        if sealed is False:  # not known: keep what was made
            _undo(path)
        if isinstance(error, OSError):
            raise disk_error(error, path / MANIFEST, _LEFT[sealed]) from error
        raise
    reached("sealed")
    _remove_leftovers(path, manifest)
    return manifest


def _is_sealed(path: Path) -> bool | None:
    """What the manifest on disk says; None if it cannot be read now. Raises nothing: another error is on its way."""
    try:
        return load_manifest(path).sealed
    except (RtassayError, OSError):
        return None


def _undo(path: Path) -> None:
    """Remove what a failed sealing made: on a full disk it is in the way."""
    for name in (*tables.SCHEMAS, SAMPLES, MESSAGES, TRACE):
        with contextlib.suppress(OSError):
            (path / name).unlink(missing_ok=True)


def write_tables(
    directory: Path, manifest: Manifest, events: Iterable[Event], damage: Callable[[], Damage]
) -> tuple[Manifest, list[str]]:
    """Parquet files of a run, synced, in `directory`; the manifest with its results, and the names of the files.

    Raises OSError (also pyarrow's), and CorruptRecording if the samples do not read back as they were written.
    """
    seconds = tables.RowWriter(directory, tables.SECONDS)
    rows = tables.EventsWriter(directory)
    frames = SpillFrames(directory)
    samples = tables.SamplesWriter(directory / SAMPLES, {"rtassay.id": manifest.id})
    trace = TraceFrames(directory)
    open_writers: list[Callable[[], object]] = [seconds.close, rows.close, frames.close, samples.abort, trace.close]
    try:
        collected = Collector(
            lambda second: seconds.add(_second_row(second)), rows.add, samples.add, frames.add, rows.add_gaps
        )
        for event in events:
            collected.add(event)
            trace.add(event)
        collected.finish()
        has_samples = samples.close()
        late, more, jitter = _read_back(manifest, collected, samples) if has_samples else ({}, {}, {})
        write_spills(rows, collected.lanes, late, frames.read())
        open_writers.clear()
        has_trace = trace.close()
        frames.close()
        seconds.close()
        rows.close()
    finally:
        for close in open_writers:
            with contextlib.suppress(Exception):
                close()
    reached("decoded")
    manifest = summarise(manifest, collected, damage())
    if samples.clipped_gaps:
        facts = {"gaps": samples.clipped_gaps, "most": tables.GAP_MOST}
        warning = RunWarning(warnings.GAPS_CUT, facts=facts)
        manifest = replace(manifest, warnings=(*manifest.warnings, warning))
    made = [*_write_histograms(directory, manifest, collected), tables.SECONDS, tables.EVENTS]
    if jitter:
        spread = [(lane, *one.counts.table()) for lane, one in sorted(jitter.items())]
        tables.write_histogram(directory / tables.JITTER, spread, {})
        made.append(tables.JITTER)
    if more:
        tables.write_late(directory, more)
        made.append(LATE)
    if has_samples:
        made.append(SAMPLES)
    if has_trace:
        made.append(TRACE)
    for name in made:
        sync_file(directory / name)
    return manifest, made


def _write_histograms(directory: Path, manifest: Manifest, collected: Collector) -> list[str]:
    """The histogram that is judged, and that of the traced part if there is one: names of the files."""
    lanes = sorted(collected.lanes.items())
    width_ns, apart = manifest.bin_width_ns, separable(manifest)
    limits = {lane: tally.limit_ns for lane, tally in lanes if tally.limit_ns is not None}
    counts = ((lane, tally.from_untraced if apart else tally.counts()) for lane, tally in lanes)
    judged = ((lane, *count.table(width_ns)) for lane, count in counts)
    tables.write_histogram(directory / tables.HISTOGRAM, judged, limits)
    traced = [(lane, *tally.from_traced.table(width_ns)) for lane, tally in lanes if tally.from_traced.total]
    if not apart or not traced:
        return [tables.HISTOGRAM]
    tables.write_histogram(directory / tables.TRACED, traced, {})
    return [tables.HISTOGRAM, tables.TRACED]


def with_causes(
    directory: Path, manifest: Manifest, made: list[str], counters: Counters | None = None
) -> tuple[Manifest, list[str]]:
    """`causes.parquet` beside a `trace.rtw`: the manifest and the names of all files. Pages that cannot be decoded are kept, with a warning."""
    if TRACE not in made:
        return manifest, made
    undecoded = write_causes(directory, manifest, () if counters is None else counters.moved)
    if undecoded is None:
        sync_file(directory / tables.CAUSES)
        return manifest, [*made, tables.CAUSES]
    warning = RunWarning(warnings.TRACE_NOT_DECODED, facts={"error": undecoded})
    trace = replace(manifest.trace or TraceEntry(), undecoded=undecoded)
    return replace(manifest, trace=trace, warnings=(*manifest.warnings, warning)), made


def _read_back(
    manifest: Manifest, collected: Collector, samples: tables.SamplesWriter
) -> tuple[dict[int, Spills], dict[int, Spills], dict[int, JitterCounts]]:
    """The latest samples of every lane, those of LATE where they are more, and its period jitter: found in the reading that checks what was written.

    The stream is the only copy until these bytes are known to hold the same samples: raises CorruptRecording if they do not.
    """
    deadline_ns = manifest.plan.deadline_ns
    if deadline_ns is None:
        deadline_ns = facts_of(collected.facts).requested.deadline_ns
    width_ns = bin_width(manifest, collected)
    found: dict[int, LateSamples] = {}
    levels: dict[int, int | None] = {}
    for lane, tally in collected.lanes.items():
        table = tally.counts().table(width_ns)
        levels[lane] = late_from(table, deadline_ns)
        known = [level for level in (levels[lane], kept_from(table, len(collected.lanes))) if level is not None]
        if known:
            found[lane] = LateSamples(min(known), tally.stitcher.first_k or 0)

    policy = manifest.source.late_policy
    counting = {entry.index: jitter_counts(entry, policy) for entry in lane_entries(manifest, collected)}
    jitter = {lane: one for lane, one in counting.items() if one is not None}

    def take(lane: int, latency_ns: Any, missed: Any, dropped: Any) -> None:
        if lane in found:
            found[lane].take(latency_ns, missed, dropped)
        if lane in jitter:
            jitter[lane].take(latency_ns, missed, dropped)

    if tables.digest_file(samples.path, take) != samples.digests:
        raise CorruptRecording(f"{samples.path} does not read back as it was written", hint="check the disk")
    latest, more = {}, {}
    for lane, one in found.items():
        spills, level = one.spills(), levels[lane]
        if level is not None:
            latest[lane] = spills if level == one.from_ns else spills.at(spills.latency_ns >= level)
        if level != one.from_ns and len(spills):
            more[lane] = spills
    return latest, more, {lane: one for lane, one in jitter.items() if one.counts.total}


def seals_of(path: Path, *, keep_telemetry: bool = False, known: dict[str, Seal] | None = None) -> dict[str, Seal]:
    """Size and hash of every file that stays, synced before it is hashed. `known`: of files synced and hashed while written."""
    seals = {}
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if not file.is_file() or file.name.startswith(".") or name.startswith(_ASIDE):
            continue
        if name in (MANIFEST, FINDINGS, LOCK) or (_is_raw(name) and not (keep_telemetry and name == _TELEMETRY_STREAM)):
            continue
        if known and name in known:
            seals[name] = known[name]
            continue
        sync_file(file)
        size, digest = sha256_of(file)
        seals[name] = Seal(size, digest)
    return seals


def _second_row(s: Second) -> tuple[int | None, ...]:
    return (
        *(s.lane, s.second, s.n, s.missed, s.dropped, s.exceedances),
        *(s.min_ns, s.max_ns, s.sum_ns, s.wall_offset_ns),
    )


def _write_telemetry(directory: Path, rows: Iterable[TelemetryRow]) -> str:
    writer = tables.RowWriter(directory, tables.TELEMETRY)
    try:
        writer.add_all(rows)
    finally:
        writer.close()
    sync_file(writer.path)
    return tables.TELEMETRY


def _write_messages(directory: Path, messages: Iterable[Message]) -> list[str]:
    ordered = sorted(messages, key=lambda message: message.mono_ns)
    if not ordered:
        return []
    with (directory / MESSAGES).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(message)) + "\n" for message in ordered)
    sync_file(directory / MESSAGES)
    return [MESSAGES]


def _write_logs(path: Path) -> None:
    """What the loads wrote, out of `load-<i>.rtw`, as `logs/load-<i>.txt` unless the session has put one there."""
    (path / "logs").mkdir(exist_ok=True)
    for stream in sorted(path.glob("load-*.rtw")):
        log = path / "logs" / f"{stream.stem}.txt"
        if log.exists():
            continue
        inner = StreamParser()
        with log.open("wb") as file:
            for event in events_of(stream, StreamParser(only={"Output"})):
                if isinstance(event, Output):
                    file.write(_as_text(event, inner))


def _as_text(output: Output, inner: StreamParser) -> bytes:
    """Output of a load; a stream of rtprobe's own loads as lines of JSON."""
    if output.fd != 1 or not (inner.bytes_seen or output.data.startswith(MAGIC)):
        return output.data
    events = inner.feed(output.data)
    return b"".join(json.dumps(e.data).encode() + b"\n" for e in events if isinstance(e, Facts | Note | End))


def _is_raw(name: str) -> bool:
    """Whether a file is a stream whose content is sealed in other files."""
    return "/" not in name and name != TRACE and (name.startswith("stream.") or name.endswith(".rtw"))


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _remove_leftovers(path: Path, manifest: Manifest) -> None:
    """Raw streams whose contents are sealed in other files. Failing to remove one harms nothing."""
    shutil.rmtree(path / _ASIDE, ignore_errors=True)
    for file in path.iterdir():
        if _is_raw(file.name) and file.name not in manifest.seals:
            with contextlib.suppress(OSError):
                file.unlink()
