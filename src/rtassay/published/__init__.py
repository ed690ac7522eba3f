"""The results that others published, shipped with the package: `load()`. Provenance: README.md beside this file."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
from importlib import resources

from rtassay.model.published import Published

_TYPED = (
    "idle",
    "duration_s",
    "duration_about",
    "intervals_us",
    "counted",
    "counted_lanes",
    "cpu_max_us",
    "text_max_us",
)
_IDLE = {"yes": True, "no": False, "": None}


@functools.cache
def load() -> tuple[Published, ...]:
    """All rows in the order of the file."""
    text = resources.files("rtassay.published").joinpath("results.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(io.StringIO(text)))


def _row(row: dict[str, str]) -> Published:
    words = {field.name: row[field.name].strip() for field in dataclasses.fields(Published) if field.name not in _TYPED}
    about, duration = row["duration_s"].startswith("~"), row["duration_s"].removeprefix("~")
    return Published(
        **words,
        idle=_IDLE[row["idle"]],
        duration_s=float(duration) if duration else None,
        duration_about=about,
        intervals_us=tuple(int(word) for word in _each(row["intervals_us"])),
        counted=int(row["counted"]) if row["counted"] else None,
        counted_lanes=int(row["counted_lanes"] or 1),
        cpu_max_us=tuple(float(word) for word in _each(row["cpu_max_us"])),
        text_max_us=float(row["text_max_us"]) if row["text_max_us"] else None,
    )


def _each(text: str) -> list[str]:
    return text.split("/") if text else []
