"""Opens recordings and reads their samples: sealed ones (`sealed`), and unsealed ones (`unsealed`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.model.errors import UsageError
from rtassay.model.recording import Histogram, Recording
from rtassay.store.counts import Counts
from rtassay.store.manifests import check_hashes, check_sizes, load_manifest
from rtassay.store.samples import SAMPLES, all_samples, damage_of, lane_of_group, open_parquet, with_order
from rtassay.store.sealed import open_sealed

if TYPE_CHECKING:
    from rtassay.store.streams import ParserFor


def open_recording(path: Path, *, parser_for: ParserFor | None = None, verify: bool = False) -> Recording:
    """The recording at `path` with its small tables (not the samples: `iter_samples`).

    Its spills hold all exceedances of the run's own deadline if possible; for another deadline use `with_order`. The manifest of an unsealed
    recording has the results of its stream so far, `damage.cut` and `sealed` False.
    Raises CorruptRecording with the file and the difference (sizes always, hashes with `verify`), and NewerFormat.
    """
    manifest = load_manifest(path)
    if not manifest.sealed:
        from rtassay.store.unsealed import open_unsealed  # with all that reads a stream

        return open_unsealed(path, manifest, parser_for)
    check_sizes(path, manifest)
    if verify:
        check_hashes(path, manifest)
    return with_order(open_sealed(path, manifest), manifest.plan.deadline_ns)


def iter_samples(path: Path, lane: int, *, parser_for: ParserFor | None = None) -> Iterator[tuple[Any, Any, Any]]:
    """(latency_ns, missed, dropped) int64 arrays of one lane in order of time, in constant memory.

    Sample j is activation j + the lane's first_k + all missed and dropped before it. Nothing for a lane without samples.
    """
    manifest = load_manifest(path)
    if manifest.sealed:
        yield from all_samples(path, manifest, lane)
    else:
        from rtassay.store.unsealed import iter_unsealed

        yield from iter_unsealed(path, manifest, lane, parser_for)


def last_latencies(path: Path) -> dict[int, int]:
    """Lane -> its last latency in ns, for a sealed recording; lanes without samples are absent."""
    if SAMPLES not in load_manifest(path).seals:
        return {}
    last: dict[int, int] = {}
    with damage_of(path / SAMPLES), open_parquet(path / SAMPLES) as file:
        for index in reversed(range(file.num_row_groups)):
            if (lane := lane_of_group(file, index)) not in last:
                column = file.read_row_group(index, columns=["latency_ns"], use_threads=False).column(0)
                last[lane] = int(column[-1].as_py())
    return last


def histogram_from_samples(path: Path) -> dict[int, Histogram]:
    """Exact histogram of every lane, counted again from the samples. Raises UsageError if none were kept."""
    manifest = load_manifest(path)
    if not manifest.sealed:
        raise UsageError(f"{path} is not sealed", hint="rtassay seal makes it a whole recording")
    if SAMPLES not in manifest.seals:
        raise UsageError(f"{path} keeps no samples", "it was recorded with histograms only")
    counts: dict[int, Counts] = {}
    with damage_of(path / SAMPLES), open_parquet(path / SAMPLES) as file:
        for index in range(file.num_row_groups):
            lane = lane_of_group(file, index)
            column = file.read_row_group(index, columns=["latency_ns"], use_threads=False).column(0)
            for chunk in column.chunks:
                counts.setdefault(lane, Counts()).add_values(chunk.to_numpy())
    return {lane: Histogram(*found.table(manifest.bin_width_ns)) for lane, found in sorted(counts.items())}
