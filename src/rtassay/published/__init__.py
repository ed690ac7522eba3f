"""The results that others published, shipped with the package: `load()`. Provenance: README.md beside this file."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
from importlib import resources

from rtassay.model.published import Published


@functools.cache
def load() -> tuple[Published, ...]:
    """All rows in the order of the file."""
    text = resources.files("rtassay.published").joinpath("results.csv").read_text(encoding="utf-8")
    names = [field.name for field in dataclasses.fields(Published)]
    return tuple(Published(**{name: row[name].strip() for name in names}) for row in csv.DictReader(io.StringIO(text)))
